//! Where a request becomes a plan, or is refused.

mod inputs;
mod program;

use std::time::Duration;

use crate::compiling::check_arguments;
use crate::{
    Bytes, EngineChoice, EngineId, Folders, HostPattern, Limits, LimitsRequest, NetworkPolicy, Plan, Refusal, Request,
    SessionName,
};

/// What the operator allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// What a run gets if it asks for nothing.
    pub defaults: Limits,
    /// What a run can ask for.
    pub ceilings: Limits,
    /// Folders of the host that every run sees. No request can name one.
    pub folders: Folders,
    /// Hosts that runs can connect to.
    pub network: NetworkPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            defaults: Limits::DEFAULT,
            ceilings: Limits::CEILING,
            folders: Folders::default(),
            network: NetworkPolicy::default(),
        }
    }
}

impl Policy {
    /// The largest program. Larger data belongs in `files`.
    pub const MAX_CODE: Bytes = Bytes::mib(16);
    /// The largest standard input.
    pub const MAX_STDIN: Bytes = Bytes::mib(64);
    /// All arguments and environment variables together, well below the kernel's `ARG_MAX`.
    pub const MAX_ARGUMENTS: Bytes = Bytes::kib(512);
    /// How many input files a request may carry.
    pub const MAX_FILES: usize = 1_024;
    /// How many packages a request may name.
    pub const MAX_PACKAGES: usize = 64;

    /// Checks everything that can be checked without touching the host, once. The only maker of a [`Plan`].
    pub fn admit(&self, request: Request) -> Result<Plan, Refusal> {
        let limits = self.limits(&request.limits)?;
        let (language, code) = program::read(&request)?;
        let names = language.names_for(&code);
        let files = inputs::files(request.files, &names, &limits)?;
        inputs::check_stdin(&request.stdin)?;
        inputs::check_args(&request.args)?;
        inputs::check_env(&request.env)?;
        inputs::check_arguments_size(&request.args, &request.env)?;
        inputs::check_variables(&request.variables, language)?;
        check_arguments(&request.compiler_args, language)?;
        inputs::check_packages(&request.packages, language)?;
        let network = self.network.admit(&request.network)?;
        let engine = self.engine(request.engine, &network)?;
        Ok(Plan {
            language,
            code,
            names,
            stdin: request.stdin,
            args: request.args,
            env: request.env,
            compiler_args: request.compiler_args,
            files,
            variables: request.variables,
            packages: request.packages,
            layer: None,
            session: request.session.as_deref().map(SessionName::new).transpose()?,
            principal: request.principal,
            engine,
            limits,
            folders: self.folders.clone(),
            network,
            collect: request.collect,
        })
    }

    /// The limits of a request that asks for none. If an operator's ceiling is below the default, the ceiling wins.
    pub fn usual_limits(&self) -> Limits {
        let (default, ceiling) = (&self.defaults, &self.ceilings);
        Limits {
            wall: default.wall.min(ceiling.wall),
            cpu: default.cpu.min(ceiling.cpu),
            memory: default.memory.min(ceiling.memory),
            disk: default.disk.min(ceiling.disk),
            files: default.files.min(ceiling.files),
            processes: default.processes.min(ceiling.processes),
            output: default.output.min(ceiling.output),
        }
    }

    /// The engine choice of a request that makes none.
    pub fn usual_engine(&self) -> EngineChoice {
        self.engine(EngineChoice::Auto, &self.network.always).unwrap_or_default()
    }

    /// Nothing behind WebAssembly's calls could lead outside, so only the native engine can give what is granted.
    fn engine(&self, asked: EngineChoice, network: &[HostPattern]) -> Result<EngineChoice, Refusal> {
        let granted = match (network.is_empty(), self.folders.is_empty()) {
            (true, true) => return Ok(asked),
            (false, _) => "have network access, and this run is granted it",
            (true, false) => "see folders of the host, and this run is granted some",
        };
        match asked {
            EngineChoice::Auto | EngineChoice::Only(EngineId::Native) => Ok(EngineChoice::Only(EngineId::Native)),
            EngineChoice::Only(EngineId::Wasm) => Err(Refusal::new(
                "engine",
                format!("`engine` asks for `wasm`, which cannot {granted}"),
                "use engine `auto` or `native`",
            )),
        }
    }

    fn limits(&self, asked: &LimitsRequest) -> Result<Limits, Refusal> {
        let (default, ceiling, floor) = (&self.usual_limits(), &self.ceilings, &Limits::FLOOR);
        let time = |duration: Duration| format!("{}", Seconds(duration));
        Ok(Limits {
            wall: within("timeout", asked.wall, [floor.wall, default.wall, ceiling.wall], time)?,
            cpu: within("cpu", asked.cpu, [floor.cpu, default.cpu, ceiling.cpu], time)?,
            memory: within("memory", asked.memory, [floor.memory, default.memory, ceiling.memory], |size| {
                size.to_string()
            })?,
            disk: within("disk", asked.disk, [floor.disk, default.disk, ceiling.disk], |size| size.to_string())?,
            files: within("file_count", asked.files, [floor.files, default.files, ceiling.files], |count| {
                count.to_string()
            })?,
            processes: within(
                "processes",
                asked.processes,
                [floor.processes, default.processes, ceiling.processes],
                |count| count.to_string(),
            )?,
            output: within("output", asked.output, [floor.output, default.output, ceiling.output], |size| {
                size.to_string()
            })?,
        })
    }
}

/// The limit asked for, or the default; refused if below the floor or above the ceiling.
fn within<T: Ord + Copy>(
    name: &'static str,
    asked: Option<T>,
    [floor, default, ceiling]: [T; 3],
    show: impl Fn(T) -> String,
) -> Result<T, Refusal> {
    let Some(asked) = asked else {
        return Ok(default);
    };
    if asked > ceiling {
        return Err(Refusal::new(
            name,
            format!("`{name}` of {} is above this server's ceiling of {}", show(asked), show(ceiling)),
            format!("ask for at most {}, or raise `limits.{name}` in the server's configuration", show(ceiling)),
        ));
    }
    if asked < floor {
        return Err(Refusal::new(
            name,
            format!("`{name}` of {} is below the least that can work, {}", show(asked), show(floor)),
            format!("ask for {} to {}, or leave `{name}` out for {}", show(floor), show(ceiling), show(default)),
        ));
    }
    Ok(asked)
}

/// Shows a duration in the unit that reads best.
struct Seconds(Duration);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.subsec_nanos() == 0 {
            write!(f, "{} s", self.0.as_secs())
        } else {
            write!(f, "{} ms", self.0.as_millis())
        }
    }
}

#[cfg(test)]
mod tests;
