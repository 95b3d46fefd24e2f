//! The native engine: runs the host's own interpreters and compilers, each run in a Linux jail of its own.
#![cfg(target_os = "linux")]

mod client;
mod collect;
mod confine;
mod displays;
mod environment;
mod error;
mod host;
mod launcher;
mod pace;
mod parked;
mod recipe;
mod run;
mod session;
mod tools;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use jail::{Layer, View};
use sandbox::{
    BoxFuture, Engine, EngineError, EngineId, Evidence, Isolation, Language, Level, LiveOutput, Outcome, Package,
    PackageUse, Plan, Refusal, Requirement, RuntimeInfo, Sandbox, Session, SessionError, Step, Toolchain, diagnose,
};
use tokio::sync::OnceCell;

pub use client::{Client, ClientEnd, Folder, Interpreter, WAY_OUT};
pub use confine::{Confined, Program};
pub use error::NativeError;
pub use host::{FailedAttempt, HostReport, LayerReport};
pub use launcher::LAUNCHER_ARGUMENT;
pub use tools::ToolSearch;

use collect::Given;
use environment::Chosen;
use host::WallKind;
use launcher::LauncherProcess;
use parked::Parked;
use run::{Finished, Input, WayOut};
use session::NativeSession;
use tools::FoundTool;

/// What the engine is started with.
#[derive(Debug, Clone)]
pub struct NativeConfig {
    /// The program that becomes the launcher if its first argument is [`LAUNCHER_ARGUMENT`]: belljar itself.
    pub launcher: PathBuf,
    /// Where tools are looked for.
    pub tools: ToolSearch,
    /// Holds runs' scratch directories on hosts without namespaces. Made if missing; nobody else may be able to write
    /// there.
    pub scratch: PathBuf,
    /// The weakest isolation that is acceptable.
    pub require: Requirement,
    /// The environment that Python programs run in, if not the host's own Python.
    pub environment: Option<PathBuf>,
    /// Where callers may choose environments.
    pub environments: Vec<PathBuf>,
    /// Whether interpreters are started ahead of programs, which pays off in a server that will see more of them.
    pub ahead: Ahead,
    /// Layers to leave out, for tests that show what each one is for. Anything here makes the level `none`.
    pub without: Vec<Layer>,
}

/// Whether interpreters wait for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// None do.
    Never,
    /// After each program, one is started for the next like it.
    AfterEach,
    /// A program that finds none has one started and waits for it: for tests, which then know what they are testing.
    Always,
}

/// The engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct NativeEngine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    launcher: LauncherProcess,
    view: View,
    search: ToolSearch,
    tools: Mutex<HashMap<&'static str, Arc<Tool>>>,
    walls: Option<WallKind>,
    report: HostReport,
    require: Requirement,
    without: Vec<Layer>,
    ahead: Ahead,
    interpreter: OnceCell<Interpreter>,
    chosen: Chosen,
    parked: Parked,
}

#[derive(Debug)]
struct Tool {
    found: FoundTool,
    /// Asked for once, in a jail.
    version: OnceCell<String>,
}

impl Tool {
    fn describe(&self, language: &'static Language, version: String) -> RuntimeInfo {
        RuntimeInfo { language: language.id, version, tool: self.found.toolchain.program.to_owned() }
    }
}

impl NativeEngine {
    /// Starts the launcher, probes what this host gives, and looks for tools. Takes a few milliseconds.
    pub async fn start(config: NativeConfig) -> Result<Self, NativeError> {
        let launcher = LauncherProcess::start(&config.launcher)?;
        let view = View::of_host();
        let (walls, mut report) = host::probe(&launcher, &view, &config.scratch).await?;
        if !config.without.is_empty() {
            report.isolation.level = Level::None;
            report.isolation.missing.extend(config.without.iter().map(|layer| layer.name().to_owned()));
        }
        let found = |language| Some((language, tools::find(language, &config.tools, &view, |_| true)?));
        let tools = Language::all()
            .iter()
            .filter_map(found)
            .map(|(language, found)| (language.id, Arc::new(Tool { found, version: OnceCell::new() })))
            .collect();
        let mut shared = Shared {
            launcher,
            view,
            search: config.tools,
            tools: Mutex::new(tools),
            walls,
            report,
            require: config.require,
            without: config.without,
            ahead: config.ahead,
            interpreter: OnceCell::new(),
            chosen: Chosen::default(),
            parked: Parked::default(),
        };
        shared.chosen = shared.configured(config.environment.as_deref(), &config.environments)?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Whether this host has a tool for the language, whatever its isolation.
    pub fn has_tool(&self, language: &'static Language) -> bool {
        self.shared.tool(language).is_ok()
    }

    /// What was found out about this host.
    pub fn report(&self) -> &HostReport {
        &self.shared.report
    }
}

impl Engine for NativeEngine {
    fn id(&self) -> EngineId {
        EngineId::Native
    }

    fn serves(&self, language: &'static Language) -> Result<(), Refusal> {
        // With layers left out, which only tests do, the level is none and nobody claims otherwise.
        if self.shared.without.is_empty() {
            host::accepts(self.shared.require, &self.shared.report)?;
        }
        if self.shared.tool(language).is_ok() {
            return Ok(());
        }
        // A package that `apt-get` installs is the easiest to get.
        let packages = || language.toolchains.iter().map(|toolchain| toolchain.package);
        let debian = packages().find(|package| matches!(package, Package::Debian(_)));
        let hint = match debian.or_else(|| packages().next()) {
            Some(Package::Debian(package)) => {
                format!("install it: `apt-get install {package}` (or your system's package for it)")
            }
            Some(Package::Elsewhere(source)) => format!("install it: {source}"),
            None => "use another language".to_owned(),
        };
        let programs: Vec<&str> = language.toolchains.iter().map(|toolchain| toolchain.program).collect();
        let message = format!("nothing on this host runs {}: found no `{}`", language.name, programs.join("`, `"));
        Err(Refusal::new("language", message, hint))
    }

    fn describe(&self, language: &'static Language) -> BoxFuture<'_, Result<RuntimeInfo, EngineError>> {
        Box::pin(async move { self.shared.describe(language).await.map_err(EngineError::new) })
    }

    fn claims(&self, plan: &Plan) -> Option<&'static str> {
        let is_chosen = plan.language().id == "python" && self.shared.chosen.of(plan.principal()).is_some();
        is_chosen.then_some("its caller chose a Python environment of the host")
    }

    fn open_session<'a>(&'a self, first: &'a Plan) -> BoxFuture<'a, Result<Box<dyn Session>, SessionError>> {
        Box::pin(async move {
            let session =
                NativeSession::open(Arc::clone(&self.shared), first).await.map_err(NativeError::in_session)?;
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }

    fn open(&self, plan: Plan) -> BoxFuture<'_, Result<Box<dyn Sandbox>, EngineError>> {
        let sandbox: Box<dyn Sandbox> = Box::new(NativeSandbox { shared: Arc::clone(&self.shared), plan });
        Box::pin(async move { Ok(sandbox) })
    }
}

struct NativeSandbox {
    shared: Arc<Shared>,
    plan: Plan,
}

impl Sandbox for NativeSandbox {
    fn run<'a>(self: Box<Self>, live: &'a mut dyn LiveOutput) -> BoxFuture<'a, Result<Outcome, EngineError>>
    where
        Self: 'a,
    {
        Box::pin(async move { self.shared.run(self.plan, live).await.map_err(EngineError::new) })
    }
}

impl Shared {
    async fn run(self: &Arc<Self>, plan: Plan, live: &mut dyn LiveOutput) -> Result<Outcome, NativeError> {
        let language = plan.language();
        let tool = self.tool_for(&plan)?;
        let plan = recipe::plan_for(plan, &tool.found);
        let mut given: Vec<Given<'_>> =
            plan.files().iter().map(|file| (file.path.as_str(), file.contents.as_slice())).collect();
        given.push((&plan.names().source, plan.code()));
        let run = async {
            let mut taken = self.parked_for(&plan, &tool.found).await?;
            match taken.going.take() {
                Some(going) => self.run_parked(going, &plan, &given, live).await,
                None => self.run_cold(&plan, &tool, &given, live).await,
            }
        };
        // The version is queried alongside the first run of a language, not before it.
        let (finished, runtime) = tokio::join!(run, self.describe_tool(&tool, language));
        let (finished, runtime) = (finished?, runtime.unwrap_or_else(|_| tool.describe(language, String::new())));

        let compiling = tool.found.toolchain.compile.is_some() && finished.command == 0;
        let error = if finished.status.is_success() {
            None
        } else {
            diagnose(&Evidence {
                language: language.id,
                step: if compiling { Step::Compile } else { Step::Run },
                stderr: &finished.stderr.text,
                stdout: &finished.stdout.text,
                source: &plan.names().source,
            })
        };
        Ok(Outcome {
            status: finished.status,
            stdout: finished.stdout,
            stderr: finished.stderr,
            diagnostics: None,
            value: None,
            displays: finished.displays,
            state: None,
            error,
            unsupported: None,
            files: finished.files.found,
            skipped_files: finished.files.skipped,
            engine: EngineId::Native,
            promoted: None,
            packages: None,
            runtime,
            isolation: self.isolation(plan.granted()),
            usage: finished.usage,
        })
    }

    /// Runs a plan from the start.
    async fn run_cold(
        &self,
        plan: &Plan,
        tool: &Tool,
        given: &[Given<'_>],
        live: &mut dyn LiveOutput,
    ) -> Result<Finished, NativeError> {
        self.can_grant(plan)?;
        let mut recipe = recipe::for_plan(plan, &tool.found, &self.view, self.walls()?, recipe::database(plan))?;
        recipe.spec.without.clone_from(&self.without);
        let contents: Vec<&[u8]> = recipe.contents.iter().map(AsRef::as_ref).collect();
        let (gate, log) = (gate(plan), egress::Log::default());
        let input = Input {
            contents: &contents,
            stdin: plan.stdin(),
            output: plan.limits().output,
            files: given,
            collect: plan.collect(),
            way_out: gate.as_ref().map(|gate| WayOut { gate, log: &log }),
        };
        run::run(&self.launcher, &recipe.spec, input, live).await
    }

    async fn describe(&self, language: &'static Language) -> Result<RuntimeInfo, NativeError> {
        let tool = self.tool(language)?;
        self.describe_tool(&tool, language).await
    }

    async fn describe_tool(&self, tool: &Tool, language: &'static Language) -> Result<RuntimeInfo, NativeError> {
        let version = tool.version.get_or_try_init(|| self.ask_version(&tool.found)).await?.clone();
        Ok(tool.describe(language, version))
    }

    /// The first thing in the tool's answer that looks like a version.
    async fn ask_version(&self, tool: &FoundTool) -> Result<String, NativeError> {
        if tool.toolchain.version.is_empty() {
            return Ok(String::new());
        }
        let spec = recipe::for_version(tool, &self.view, self.walls()?);
        let input = Input::nothing();
        let finished = run::run(&self.launcher, &spec, input, &mut ()).await?;
        let answer = format!("{} {}", finished.stdout.text, finished.stderr.text);
        Ok(version_in(&answer).unwrap_or_default().to_owned())
    }

    /// What runs a language here. A language without a tool at start may have one by now, installed by belljar.
    fn tool(&self, language: &'static Language) -> Result<Arc<Tool>, NativeError> {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tool) = tools.get(language.id) {
            return Ok(Arc::clone(tool));
        }
        // This is checked before every run whose language is missing, so there is no search unless one could have been
        // installed.
        let may_have_come = tools::has_own(language, &self.search);
        let found = may_have_come.then(|| tools::find(language, &self.search, &self.view, |_| true)).flatten();
        let found = found.ok_or(NativeError::ToolGone(language.id))?;
        let tool = Arc::new(Tool { found, version: OnceCell::new() });
        tools.insert(language.id, Arc::clone(&tool));
        Ok(tool)
    }

    /// What runs this program; for Python, its caller may have chosen.
    fn tool_for(&self, plan: &Plan) -> Result<Arc<Tool>, NativeError> {
        let language = plan.language();
        let chosen = if language.id == "python" { self.chosen.of(plan.principal()) } else { None };
        if let Some(environment) = chosen {
            return Ok(Arc::clone(&environment.tool));
        }
        let tool = self.tool(language)?;
        let can_have = |toolchain: &Toolchain| toolchain.packages != PackageUse::None;
        if plan.layer().is_none() || can_have(tool.found.toolchain) {
            return Ok(tool);
        }
        let found = tools::find(language, &self.search, &self.view, can_have);
        let found = found.ok_or(NativeError::NoPackages(tool.found.toolchain.program))?;
        Ok(Arc::new(Tool { found, version: OnceCell::new() }))
    }

    /// Whether this host can give a plan what it is granted. Folders need a root of the run's own, and every layer
    /// around it.
    fn can_grant(&self, plan: &Plan) -> Result<(), NativeError> {
        let is_possible = matches!(self.walls()?, jail::Walls::Namespaces { .. }) && self.without.is_empty();
        if is_possible || plan.granted().is_empty() { Ok(()) } else { Err(NativeError::NoGrants) }
    }

    /// The walls around a run with these grants.
    fn isolation(&self, granted: Vec<String>) -> Isolation {
        Isolation { granted, ..self.report.isolation.clone() }
    }

    fn walls(&self) -> Result<jail::Walls, NativeError> {
        self.walls.as_ref().map(WallKind::walls).ok_or(NativeError::SupervisorLost)
    }
}

/// Where a plan's way out leads, if it has one.
fn gate(plan: &Plan) -> Option<egress::Gate> {
    // Both sides parse the same syntax. A pattern that this one did not know would simply lead nowhere.
    let patterns = plan.network().iter().filter_map(|pattern| egress::Pattern::parse(&pattern.to_string()).ok());
    (!plan.network().is_empty()).then(|| egress::Gate::for_programs(patterns))
}

/// The first run of digits and dots with at least one dot, such as `3.11.2` in `Python 3.11.2`.
fn version_in(answer: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    answer
        .split(|c: char| !is_part(c))
        .map(|word| word.trim_matches('.'))
        .find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (answer, expected) in [
            ("Python 3.11.2\n", Some("3.11.2")),
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", Some("12.2.0")),
            ("openjdk version \"17.0.15\" 2025-04-15", Some("17.0.15")),
            ("v20.20.2", Some("20.20.2")),
            ("go version go1.19.8 linux/amd64", Some("1.19.8")),
            ("no version", None),
        ] {
            assert_eq!(version_in(answer), expected);
        }
    }
}
