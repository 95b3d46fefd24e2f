//! belljar inside another program.

use std::path::PathBuf;
use std::process::ExitCode;

use engine_native::{Ahead, ToolSearch};
use packages::PackagePolicy;
use runtime::{RunError, Runtime};
use sandbox::{LiveOutput, Outcome, Policy, Request, Requirement};

use crate::{Settings, engine};

/// A program that embeds belljar has to call this first, before it has a second thread: belljar starts that same
/// program again as its launcher and as its workers. If this returns something, the process was one of those, and only
/// has to end.
pub fn helper() -> Option<anyhow::Result<ExitCode>> {
    let asked = std::env::args_os().nth(1)?;
    if asked == engine_native::LAUNCHER_ARGUMENT {
        return Some(jail::launcher::run().map(|()| ExitCode::SUCCESS).map_err(anyhow::Error::from));
    }
    if asked == engine_wasm::WORKER_ARGUMENT {
        jail::give_large_blocks_back();
        return Some(Ok(engine_wasm::worker::main()));
    }
    None
}

/// Everything that belljar is, in this process.
///
/// ```no_run
#[doc = include_str!("../examples/embed.rs")]
/// ```
#[derive(Debug)]
pub struct Belljar {
    runtime: Runtime,
}

impl Belljar {
    /// With the limits, tools and folders that the command line has when nobody configured it.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Runs a program to its end. Dropping the future ends it and everything that it started.
    pub async fn run(&self, request: Request) -> Result<Outcome, RunError> {
        self.run_live(request, &mut Silence).await
    }

    /// The same, and its output is heard while it runs.
    pub async fn run_live(&self, request: Request, live: &mut dyn LiveOutput) -> Result<Outcome, RunError> {
        self.runtime.run(request, live).await
    }

    /// Sessions, packages and everything else.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

/// Hears nothing.
#[derive(Debug)]
struct Silence;

impl LiveOutput for Silence {
    fn output(&mut self, _: sandbox::Stream, _: &[u8]) {}
}

/// A [`Belljar`] that is being put together.
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    settings: Settings,
}

impl Default for Builder {
    #[expect(clippy::disallowed_methods, reason = "the defaults of a program are those of its environment")]
    fn default() -> Self {
        let home = std::env::home_dir();
        let temporary = std::env::temp_dir().join(format!("belljar-{}", rustix::process::getuid().as_raw()));
        let cache = home.as_ref().map_or_else(|| temporary.join("cache"), |home| home.join(".cache/belljar"));
        let path: Vec<PathBuf> =
            std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
        let off_limits = home.iter().chain(&path).chain([&cache, &temporary]).cloned().chain(std::env::current_exe());
        Self {
            settings: Settings {
                policy: Policy::default(),
                require: Requirement::default(),
                off_limits: off_limits.collect(),
                cache,
                tools: ToolSearch { path, home, own: Vec::new() },
                scratch: temporary,
                recipes: setup::Scratch::Clear,
                ahead: Ahead::AfterEach,
                python: None,
                pythons: Vec::new(),
                packages: PackagePolicy::default(),
                environment: std::env::vars_os().collect(),
            },
        }
    }
}

impl Builder {
    /// The most that a run may use, and what it gets when it asks for nothing.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.settings.policy = policy;
        self
    }

    /// The weakest isolation to accept.
    pub fn require(mut self, require: Requirement) -> Self {
        self.settings.require = require;
        self
    }

    /// The folder of runtimes, which `belljar setup` fills.
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.settings.cache = folder.into();
        self
    }

    /// What may be installed for programs.
    pub fn packages(mut self, packages: PackagePolicy) -> Self {
        self.settings.packages = packages;
        self
    }

    /// Anything else.
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Starts the launcher and looks at this host. Needs a runtime of tokio's with time and I/O enabled.
    pub async fn build(self) -> anyhow::Result<Belljar> {
        Ok(Belljar { runtime: engine::runtime(&self.settings, Vec::new()).await? })
    }
}
