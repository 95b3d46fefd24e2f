//! The wasm engine: each run is a brand-new instance of an interpreter that has already started, copy-on-write from a snapshot.
//!
//! Guests live in worker processes ([`worker`]), which the host's walls confine ([`Wall`]) and which give up every system call that they
//! do not need. The server side ([`WasmEngine`]) sends them jobs and believes them no more than it would a guest. A worker is never shared
//! between principals.
#![cfg(target_os = "linux")]

mod artifact;
mod bulk;
mod command;
mod compiled;
mod connection;
mod driver;
mod error;
mod execute;
mod guest;
mod halt;
mod instances;
mod javascript;
mod jobs;
mod layers;
mod machine;
mod memory;
mod packs;
mod pool;
mod protocol;
mod ruby;
mod run;
mod runtime;
mod session;
mod sessions;
mod snapshot;
mod timekeeper;
mod typescript;
mod wall;
pub mod worker;

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandbox::{
    BoxFuture, Capture, Collect, CpuSource, Display, Engine, EngineError, EngineId, Evidence, GuestError, Isolation,
    Language, LastValue, LimitKind, Limits, LiveOutput, MemorySource, Outcome, OutputFile, Plan, Refusal, RuntimeInfo,
    Sandbox, Session, SessionError, SkipReason, SkippedFile, Status, Step, Stream, Usage, WorkspacePath, diagnose,
};

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tokio::sync::OnceCell;

pub use error::WasmError;
pub use packs::pack_modules;
pub use protocol::Reset;
pub use snapshot::{compile, machine_key, pack, prepare, snapshot};
pub use wall::{Confined, NoWall, Wall};
pub use worker::WORKER_ARGUMENT;

use compiled::{Compiled, Ran, Wants};
use pool::Pool;
use protocol::{Collecting, Dialect, End, Finished, Job, JobFile, JobLimits, LayerEntry, MadeFile, Shown, Work};
use session::WasmSession;

/// Where the guest's workspace is, as in the native engine.
const WORKSPACE: &str = "/box";

/// What every program finds in its environment, as in the native engine.
const ENVIRONMENT: &[(&str, &str)] =
    &[("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/tmp"), ("TMPDIR", "/tmp"), ("LANG", "C.UTF-8")];

/// What the engine is started with.
#[derive(Debug)]
pub struct WasmConfig {
    /// What has been set up on this machine.
    pub runtimes: Vec<InstalledRuntime>,
    /// Starts and confines workers.
    pub wall: Arc<dyn Wall>,
    /// The most runs of one principal at one time.
    pub slots: u32,
}

/// A runtime that was set up.
#[derive(Debug, Clone)]
pub struct InstalledRuntime {
    /// Its name: `python`, `numpy`, `javascript` …
    pub name: String,
    /// The version of what is in it.
    pub version: String,
    /// The compiled snapshot. Native code: nobody but this user may be able to write it.
    pub module: PathBuf,
    /// The files that it comes with.
    pub tree: Option<PathBuf>,
}

/// The engine. Workers are started when they are first needed.
#[derive(Debug)]
pub struct WasmEngine {
    shared: Arc<Shared>,
    numpy_version: OnceCell<String>,
}

#[derive(Debug)]
struct Shared {
    pool: Pool,
    /// For languages that are compiled, where the compiler is set up.
    compiled: Option<Arc<Compiled>>,
    wall: Arc<dyn Wall>,
}

impl WasmEngine {
    /// Touches nothing yet.
    pub fn new(mut config: WasmConfig) -> Self {
        // Last, since workers do not load it: to them the others are numbered without it.
        config.runtimes.sort_by_key(|runtime| runtime.name == COMPILER);
        let wall = Arc::clone(&config.wall);
        let tools = config.runtimes.iter().find(|runtime| runtime.name == COMPILER).cloned();
        let compiled = tools.map(|tools| Arc::new(Compiled::new(Arc::clone(&wall), tools)));
        Self { shared: Arc::new(Shared { pool: Pool::new(config), compiled, wall }), numpy_version: OnceCell::new() }
    }

    /// Starts the worker of whoever started this process ahead of its first run. Says how it resets memory, which decides how fast it is.
    pub async fn warm_up(&self) -> Result<Reset, EngineError> {
        let worker = self.shared.pool.worker(&sandbox::Principal::default()).await.map_err(EngineError::new)?;
        Ok(worker.reset())
    }

    /// What stands around its runs.
    pub fn isolation(&self) -> Isolation {
        self.shared.wall.isolation()
    }
}

/// The runtime whose programs have to be compiled first.
pub const COMPILER: &str = "clang";

/// How a language is served.
struct Service {
    language: &'static str,
    /// The runtime that has everything the program may want beside the language, and what in a program asks for it.
    richer: Option<(&'static str, &'static [u8])>,
    runtime: &'static str,
    dialect: Dialect,
}

impl Service {
    /// Those that may run it, the one that has most first.
    fn runtimes(&self) -> impl Iterator<Item = &'static str> {
        self.richer.map(|(richer, _)| richer).into_iter().chain([self.runtime])
    }

    /// Whether a session's programs share an interpreter.
    fn has_cells(&self) -> bool {
        matches!(self.runtime, "python" | "javascript" | "ruby")
    }
}

const SERVICES: &[Service] = &[
    Service { language: "python", richer: Some(("numpy", b"numpy")), runtime: "python", dialect: Dialect::Plain },
    Service { language: "javascript", richer: None, runtime: "javascript", dialect: Dialect::Plain },
    Service { language: "typescript", richer: None, runtime: "javascript", dialect: Dialect::TypeScript },
    Service { language: "ruby", richer: None, runtime: "ruby", dialect: Dialect::Plain },
    Service { language: "php", richer: None, runtime: "php", dialect: Dialect::Plain },
    Service { language: "lua", richer: None, runtime: "lua", dialect: Dialect::Plain },
    Service { language: "sql", richer: None, runtime: "sql", dialect: Dialect::Plain },
    Service { language: "c", richer: None, runtime: COMPILER, dialect: Dialect::Plain },
    Service { language: "cpp", richer: None, runtime: COMPILER, dialect: Dialect::Plain },
];

impl Shared {
    /// The runtime for a language's programs, or for this one.
    fn runtime_for(&self, language: &Language, plan: Option<&Plan>) -> Option<(usize, &'static Service)> {
        let service = SERVICES.iter().find(|service| service.language == language.id)?;
        if let (Some((richer, word)), Some(plan)) = (service.richer, plan) {
            let asks = |text: &[u8]| text.windows(word.len()).any(|window| window == word);
            let wanted =
                asks(plan.code()) || plan.files().iter().any(|file| is_source(&file.path) && asks(&file.contents));
            if let Some(index) = self.pool.index_of(richer).filter(|_| wanted) {
                return Some((index, service));
            }
        }
        Some((self.pool.index_of(service.runtime)?, service))
    }

    /// The runtime for a language's cells: the richest that is here, since a later cell may need what the first does
    /// not.
    fn runtime_for_cells(&self, language: &Language) -> Option<(usize, &'static Service)> {
        let service = SERVICES.iter().find(|service| service.language == language.id)?;
        let index = service.runtimes().find_map(|runtime| self.pool.index_of(runtime))?;
        Some((index, service))
    }

    /// Languages whose interpreters have these numbers.
    fn languages_of(&self, runtimes: &[u32]) -> Vec<&'static str> {
        let runtimes: Vec<&str> = runtimes
            .iter()
            .filter_map(|index| usize::try_from(*index).ok())
            .map(|index| self.pool.name_of(index))
            .collect();
        let live = SERVICES.iter().filter(|service| service.runtimes().any(|runtime| runtimes.contains(&runtime)));
        live.map(|service| service.language).collect()
    }

    async fn run(&self, plan: Plan, live: &mut dyn LiveOutput) -> Result<Outcome, WasmError> {
        let language = plan.language();
        let (index, service) =
            self.runtime_for(language, Some(&plan)).ok_or_else(|| WasmError::NoDriver(language.id.to_owned()))?;
        let (output, collect) = (plan.limits().output, plan.collect());
        let mut keeping = Keeping { stdout: Capture::new(output), stderr: Capture::new(output), live };
        let runtime = RuntimeInfo {
            language: language.id,
            version: self.pool.version_of(index).to_owned(),
            tool: self.pool.name_of(index).to_owned(),
        };
        if let Some(compiled) = self.compiled.as_ref().filter(|_| service.runtime == COMPILER) {
            let started = Instant::now();
            let Ran { finished, diagnostics } = compiled.run(&plan, started, collecting(&plan), &mut keeping).await?;
            let outcome = self.outcome(finished, keeping, runtime, collect);
            return Ok(Self::of_compiled(outcome, diagnostics, &plan));
        }
        let worker = self.pool.worker(plan.principal()).await?;
        let (job, tree) = job_with_packages(&plan, worker.number(), index, service.dialect)?;
        let started = Instant::now();
        let finished = match worker.run(job, tree.as_ref(), &mut keeping).await {
            // It had to be ended with its worker, which is its own doing or a matter of its time.
            Err(WasmError::Unresponsive) => {
                let wall_micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
                Finished { wall_micros, ..Finished::only(End::TimedOut) }
            }
            ran => ran?,
        };
        Ok(self.outcome(finished, keeping, runtime, collect))
    }

    /// What more there is to say of a program that was compiled.
    fn of_compiled(mut outcome: Outcome, diagnostics: Option<String>, plan: &Plan) -> Outcome {
        outcome.diagnostics = diagnostics;
        // What the program's own library said at its end is worth more than the name of a trap.
        if matches!(outcome.status, Status::Crashed { .. }) {
            let said = Evidence {
                language: plan.language().id,
                step: Step::Run,
                stderr: &outcome.stderr.text,
                stdout: "",
                source: &plan.names().source,
            };
            outcome.error = diagnose(&said).or(outcome.error);
        }
        if !outcome.status.is_success() {
            outcome.unsupported = outcome.unsupported.or_else(|| Wants::of(plan).cannot().map(str::to_owned));
        }
        outcome
    }

    fn outcome(&self, mut finished: Finished, keeping: Keeping<'_>, runtime: RuntimeInfo, collect: Collect) -> Outcome {
        // A worker's word is worth no more than a guest's.
        finished.bound();
        let status = match &finished.end {
            End::Exited(exit_code) => Status::Completed { exit_code: *exit_code },
            End::Trapped { signal, .. } => Status::Crashed { signal: *signal },
            End::TimedOut => Status::TimedOut,
            End::Cancelled => Status::Cancelled,
            End::OverCpu => Status::LimitExceeded(LimitKind::Cpu),
            End::OverMemory => Status::LimitExceeded(LimitKind::Memory),
            // The second is refused before anybody asks for an outcome.
            End::OverDisk | End::Unplaced { .. } => Status::LimitExceeded(LimitKind::Disk),
        };
        let report = finished.report;
        let error = match (report.error, finished.end) {
            (Some(error), _) => {
                Some(GuestError { kind: error.kind, message: error.message, line: error.line, hint: None })
            }
            (None, End::Trapped { message, .. }) => {
                Some(GuestError { kind: "Trap".to_owned(), message, line: None, hint: None })
            }
            (None, _) => None,
        };
        let value = match (report.value_json, report.value_printed) {
            (Some(json), _) if is_json(&json) => Some(LastValue::Json(json)),
            (_, Some(printed)) => Some(LastValue::Printed(printed)),
            _ => None,
        };
        let (files, skipped_files) = check_files(finished.files, finished.links, collect);
        Outcome {
            status,
            stdout: keeping.stdout.finish(),
            stderr: keeping.stderr.finish(),
            diagnostics: None,
            value,
            error,
            displays: check_displays(report.displays),
            state: None,
            unsupported: report.unsupported,
            files,
            skipped_files,
            engine: EngineId::Wasm,
            promoted: None,
            packages: None,
            runtime,
            isolation: self.wall.isolation(),
            usage: Usage {
                wall: Duration::from_micros(finished.wall_micros),
                cpu: Duration::from_micros(finished.cpu_micros),
                cpu_source: CpuSource::Thread,
                peak_memory: finished.peak_bytes,
                memory_source: MemorySource::Linear,
            },
        }
    }
}

/// Whether a file can be part of the program.
fn is_source(path: &WorkspacePath) -> bool {
    has_extension(path.as_str(), "py")
}

fn has_extension(path: &str, wanted: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|extension| extension == wanted)
}

/// The tree of a layer, and how it is called in a job.
fn open_layer(id: &str, pack: &std::path::Path) -> Result<(LayerEntry, OwnedFd), WasmError> {
    let (file, length) = pool::open_ours(pack)?;
    Ok((LayerEntry { id: id.to_owned(), length }, file))
}

/// Whether a JSON reader would accept this, without making values of it: what nests too deeply, or has too large a
/// number, is not accepted.
fn is_json(text: &str) -> bool {
    struct Read;

    impl<'de> Deserialize<'de> for Read {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            // Not `IgnoredAny`, for which only the syntax is checked.
            deserializer.deserialize_any(Self)
        }
    }

    impl<'de> Visitor<'de> for Read {
        type Value = Self;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("JSON")
        }

        fn visit_unit<E>(self) -> Result<Self, E> {
            Ok(self)
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
            Ok(self)
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
            Ok(self)
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
            Ok(self)
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
            Ok(self)
        }

        fn visit_str<E>(self, _: &str) -> Result<Self, E> {
            Ok(self)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self, A::Error> {
            while sequence.next_element::<Self>()?.is_some() {}
            Ok(self)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
            while map.next_entry::<Self, Self>()?.is_some() {}
            Ok(self)
        }
    }

    serde_json::from_str::<Read>(text).is_ok()
}

/// A job, and the tree of its packages.
fn job_with_packages(
    plan: &Plan,
    id: protocol::RunId,
    runtime: usize,
    dialect: Dialect,
) -> Result<(Job, Option<OwnedFd>), WasmError> {
    let mut job = job(plan, id, runtime, dialect);
    let layer = plan.layer().and_then(|layer| Some((layer, layer.pack.as_deref()?)));
    let layer = layer.map(|(layer, pack)| open_layer(&layer.id, pack)).transpose()?;
    let (entry, tree) = layer.unzip();
    job.layer = entry;
    Ok((job, tree))
}

fn job(plan: &Plan, id: protocol::RunId, runtime: usize, dialect: Dialect) -> Job {
    Job {
        id,
        work: Work::Run,
        runtime: u32::try_from(runtime).unwrap_or(u32::MAX),
        dialect,
        file: format!("{WORKSPACE}/{}", plan.names().source),
        code: plan.code().to_vec(),
        stdin: plan.stdin().to_vec(),
        args: plan.args().to_vec(),
        env: environment(plan.env()),
        variables: plan.variables().iter().map(|variable| (variable.name.clone(), variable.json.clone())).collect(),
        files: plan
            .files()
            .iter()
            .map(|file| JobFile { path: file.path.as_str().to_owned(), contents: file.contents.clone() })
            .collect(),
        layer: None,
        limits: job_limits(plan.limits()),
        collect: collecting(plan),
    }
}

fn collecting(plan: &Plan) -> Collecting {
    match plan.collect() {
        Collect::Names => Collecting::Sizes,
        Collect::Contents => Collecting::Contents,
    }
}

fn job_limits(limits: &Limits) -> JobLimits {
    let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    JobLimits {
        wall_micros: micros(limits.wall),
        cpu_micros: micros(limits.cpu),
        memory: limits.memory.get(),
        disk: limits.disk.get(),
        files: limits.files,
    }
}

/// The variables of a program: ours, and over them its caller's.
fn environment(given: &[(String, String)]) -> Vec<(String, String)> {
    let own = ENVIRONMENT.iter().filter(|(name, _)| !given.iter().any(|(other, _)| other == name));
    own.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).chain(given.iter().cloned()).collect()
}

/// Checks what a worker says that a run showed.
fn check_displays(shown: Vec<Shown>) -> Vec<Display> {
    let displays = shown.into_iter().filter_map(|shown| Display::new(&shown.mime, shown.data, is_json));
    Display::within_limits(displays).0
}

/// Checks what a worker says that a run made. Its word is worth no more than the guest's.
fn check_files(made: Vec<MadeFile>, links: Vec<String>, collect: Collect) -> (Vec<OutputFile>, Vec<SkippedFile>) {
    let (mut files, mut skipped) = (Vec::new(), Vec::new());
    let mut skip = |path: &str, reason| {
        if skipped.len() < SkippedFile::MAX_COUNT {
            let path = path.chars().flat_map(char::escape_debug).take(256).collect();
            skipped.push(SkippedFile { path, reason });
        }
    };
    let mut budget = OutputFile::MAX_CONTENTS;
    for file in made {
        let size = file.contents.as_ref().map_or(0, |contents| contents.len() as u64);
        match WorkspacePath::new(&file.path) {
            Err(_) => skip(&file.path, SkipReason::Name),
            Ok(_) if files.len() >= OutputFile::MAX_COUNT => skip(&file.path, SkipReason::TooMany),
            Ok(_) if size > budget || (collect == Collect::Contents && file.contents.is_none()) => {
                skip(&file.path, SkipReason::TooLarge);
            }
            Ok(path) => {
                budget -= size;
                files.push(OutputFile { path, size: file.size, contents: file.contents });
            }
        }
    }
    for link in links {
        skip(&link, SkipReason::NotRegular);
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    skipped.sort_by(|one, other| one.path.cmp(&other.path));
    (files, skipped)
}

/// Keeps head and tail of the output while passing it on.
struct Keeping<'a> {
    stdout: Capture,
    stderr: Capture,
    live: &'a mut dyn LiveOutput,
}

impl LiveOutput for Keeping<'_> {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.stdout.push(bytes),
            Stream::Stderr => self.stderr.push(bytes),
        }
        self.live.output(stream, bytes);
    }
}

impl Engine for WasmEngine {
    fn id(&self) -> EngineId {
        EngineId::Wasm
    }

    fn get_ready(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async { self.warm_up().await.map(|_| ()) })
    }

    fn serves(&self, language: &'static Language) -> Result<(), Refusal> {
        let Some(service) = SERVICES.iter().find(|service| service.language == language.id) else {
            let served: Vec<&str> = SERVICES.iter().map(|service| service.language).collect();
            return Err(Refusal::new(
                "engine",
                format!("there is no {} in WebAssembly", language.name),
                format!("use engine `auto` or `native`, or one of {}", served.join(", ")),
            ));
        };
        if self.shared.pool.index_of(service.runtime).is_none() {
            return Err(Refusal::new(
                "engine",
                format!("{} in WebAssembly is not set up on this machine", language.name),
                format!("run `belljar setup {}`", service.runtime),
            ));
        }
        Ok(())
    }

    fn known_version(&self, language: &'static Language) -> Option<&str> {
        let (index, _) = self.shared.runtime_for(language, None)?;
        Some(self.shared.pool.version_of(index))
    }

    fn describe(&self, language: &'static Language) -> BoxFuture<'_, Result<RuntimeInfo, EngineError>> {
        let described = match self.shared.runtime_for(language, None) {
            Some((index, _)) => Ok(RuntimeInfo {
                language: language.id,
                version: self.shared.pool.version_of(index).to_owned(),
                tool: self.shared.pool.name_of(index).to_owned(),
            }),
            None => Err(EngineError::new(WasmError::NoDriver(language.id.to_owned()))),
        };
        Box::pin(async move { described })
    }

    fn prefers_another(&self, plan: &Plan) -> Option<&'static str> {
        let is_compiled =
            SERVICES.iter().any(|service| service.language == plan.language().id && service.runtime == COMPILER);
        if is_compiled { Wants::of(plan).another() } else { None }
    }

    fn open_session<'a>(&'a self, plan: &'a Plan) -> BoxFuture<'a, Result<Box<dyn Session>, SessionError>> {
        Box::pin(async move {
            let session = WasmSession::open(Arc::clone(&self.shared), plan).await.map_err(EngineError::new)?;
            Ok(Box::new(session) as Box<dyn Session>)
        })
    }

    fn restore_session<'a>(
        &'a self,
        file: OwnedFd,
        principal: &'a sandbox::Principal,
        most: &'a Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, SessionError>> {
        Box::pin(async move {
            let shared = Arc::clone(&self.shared);
            match WasmSession::restore(shared, principal, file, most).await.map_err(EngineError::new)? {
                Ok(session) => Ok(Box::new(session) as Box<dyn Session>),
                Err(reason) => Err(SessionError::Refused(Refusal::new(
                    "session",
                    format!("what was saved cannot be restored: {reason}"),
                    "save sessions with the same belljar and runtimes that restore them, or run the code again",
                ))),
            }
        })
    }

    fn open(&self, plan: Plan) -> BoxFuture<'_, Result<Box<dyn Sandbox>, EngineError>> {
        let sandbox: Box<dyn Sandbox> = Box::new(WasmSandbox { shared: Arc::clone(&self.shared), plan });
        Box::pin(async move { Ok(sandbox) })
    }
}

struct WasmSandbox {
    shared: Arc<Shared>,
    plan: Plan,
}

impl Sandbox for WasmSandbox {
    fn run<'a>(self: Box<Self>, live: &'a mut dyn LiveOutput) -> BoxFuture<'a, Result<Outcome, EngineError>>
    where
        Self: 'a,
    {
        Box::pin(async move { self.shared.run(self.plan, live).await.map_err(EngineError::new) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_what_a_reader_would_take() {
        for text in ["null", " [1, -2, 3.5e3, true, \"\\u00e9\"] ", "{\"a\": {\"b\": []}}", "18446744073709551616"] {
            assert!(is_json(text), "{text}");
        }
        let deep = ["[".repeat(200), "]".repeat(200)].concat();
        for text in ["", "nul", "1 2", "[1,]", "{1: 2}", "{\"a\" 1}", "1e999", "\"\\ud800\"", "NaN", &deep] {
            assert!(!is_json(text), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
        }
    }
}
