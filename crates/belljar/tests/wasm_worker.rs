//! Many runs in one worker: that they share nothing, that none of them can take it down, and that it comes back when it dies.
//!
//! The engine is in this process, the worker is the built binary. It stands without the jail here, which `wasm_attacks.rs` looks at: what is
//! tested is what a worker owes its runs.

#![expect(clippy::expect_used, clippy::panic, reason = "a failed check is a failed test")]

#[path = "wasm_worker/hostile.rs"]
mod hostile;
#[path = "wasm_worker/life.rs"]
mod life;
#[path = "wasm_worker/nothing_shared.rs"]
mod nothing_shared;
#[path = "wasm_worker/watched.rs"]
mod watched;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use belljar::{Settings, provision};
use engine_native::ToolSearch;
use engine_wasm::{Wall, WasmConfig, WasmEngine};
use runtime::{RunError, Runtime};
use sandbox::{EngineChoice, EngineId, LimitsRequest, Outcome, Policy, Principal, Request, Requirement};
use testkit::runtimes;
use watched::Watched;

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

/// A server's engine, and the workers that it has started.
#[derive(Debug)]
struct Server {
    runtime: Runtime,
    wall: Arc<Watched>,
    /// Whether `NumPy` is set up too.
    has_numpy: bool,
}

impl Server {
    /// `None` after saying why, where there are no runtimes.
    fn start(slots: u32) -> Option<Arc<Self>> {
        let settings = Settings {
            off_limits: Vec::new(),
            policy: Policy::default(),
            require: Requirement::Full,
            tools: ToolSearch { path: Vec::new(), home: None, own: Vec::new() },
            scratch: PathBuf::new(),
            cache: runtimes::provisioned(BELLJAR)?.to_owned(),
            recipes: setup::Scratch::Keep,
            environment: Vec::new(),
            packages: packages::PackagePolicy {
                installs: packages::Installs::Nothing,
                ..packages::PackagePolicy::default()
            },
            python: None,
            pythons: Vec::new(),
            ahead: engine_native::Ahead::Never,
        };
        let installed = provision::installed(&settings);
        let has = |name: &str| installed.iter().any(|runtime| runtime.name == name);
        assert!(has("python") && has("javascript"), "set up, and not there: {installed:?}");
        let has_numpy = has("numpy");
        let wall = Arc::new(Watched::default());
        let engine =
            WasmEngine::new(WasmConfig { runtimes: installed, wall: Arc::clone(&wall) as Arc<dyn Wall>, slots });
        Some(Arc::new(Self { runtime: Runtime::new(Policy::default(), vec![Arc::new(engine)]), wall, has_numpy }))
    }

    async fn try_run(&self, request: Request) -> Result<Outcome, RunError> {
        self.runtime.run(request, &mut ()).await
    }

    async fn run(&self, request: Request) -> Outcome {
        self.try_run(request).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// What a program prints, which must be all that comes of it.
    async fn printed(&self, language: &str, code: &str) -> String {
        let outcome = self.run(request(language, code)).await;
        assert!(outcome.status.is_success() && outcome.stderr.text.is_empty(), "{code}: {outcome:?}");
        outcome.stdout.text
    }

    /// The only worker that was ever started.
    fn worker(&self) -> u32 {
        let workers = self.wall.started();
        let [worker] = workers[..] else { panic!("not one worker, but {workers:?}") };
        worker
    }
}

fn request(language: &str, code: &str) -> Request {
    Request {
        code: code.into(),
        language: Some(language.to_owned()),
        engine: EngineChoice::Only(EngineId::Wasm),
        ..Request::default()
    }
}

fn request_of(principal: &str, language: &str, code: &str) -> Request {
    Request { principal: Principal::new(principal), ..request(language, code) }
}

fn within(wall: Duration) -> LimitsRequest {
    LimitsRequest { wall: Some(wall), ..LimitsRequest::default() }
}
