//! Sessions in WebAssembly: that cells share what they should, that nothing else does, and what is left when one goes wrong.
//!
//! The engine is in this process, the worker is the built binary, without the jail, which other tests look at.

#![expect(clippy::expect_used, clippy::panic, reason = "a failed check is a failed test")]

#[path = "wasm_sessions/copies.rs"]
mod copies;
#[path = "wasm_sessions/files.rs"]
mod files;
#[path = "wasm_sessions/interrupts.rs"]
mod interrupts;
#[path = "wasm_sessions/life.rs"]
mod life;
#[path = "wasm_sessions/state.rs"]
mod state;
#[path = "wasm_worker/watched.rs"]
mod watched;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use belljar::{Settings, provision};
use engine_native::ToolSearch;
use engine_wasm::{Wall, WasmConfig, WasmEngine};
use sandbox::{
    Engine as _, EngineChoice, EngineId, LastValue, LimitsRequest, Outcome, Plan, Policy, Principal, Request,
    Requirement, Session, SessionState,
};
use testkit::runtimes;
use watched::Watched;

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

/// An engine, and the workers that it has started.
struct Stage {
    engine: WasmEngine,
    wall: Arc<Watched>,
}

impl Stage {
    /// `None` after saying why, where there are no runtimes.
    fn start() -> Option<Self> {
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
        let wall = Arc::new(Watched::default());
        let config = WasmConfig {
            runtimes: provision::installed(&settings),
            wall: Arc::clone(&wall) as Arc<dyn Wall>,
            slots: 4,
        };
        Some(Self { engine: WasmEngine::new(config), wall })
    }

    async fn open(&self) -> Notebook {
        self.open_as(request("python", "0")).await
    }

    async fn open_as(&self, request: Request) -> Notebook {
        let session = self.engine.open_session(&plan(request)).await.expect("a session");
        Notebook { session }
    }
}

/// A session.
struct Notebook {
    session: Box<dyn Session>,
}

impl Notebook {
    async fn run(&mut self, request: Request) -> Outcome {
        self.session.run(plan(request), &mut ()).await.expect("an outcome")
    }

    async fn cell(&mut self, language: &str, code: &str) -> Outcome {
        self.run(request(language, code)).await
    }

    /// What a cell prints. It must succeed, and keep its state.
    async fn printed(&mut self, language: &str, code: &str) -> String {
        let outcome = self.cell(language, code).await;
        assert!(outcome.status.is_success() && outcome.stderr.text.is_empty(), "{code}: {outcome:?}");
        assert_eq!(outcome.state, Some(SessionState::Kept), "{code}");
        outcome.stdout.text
    }

    /// The value of a cell, which must succeed.
    async fn value(&mut self, language: &str, code: &str) -> Option<String> {
        let outcome = self.cell(language, code).await;
        assert!(outcome.status.is_success() && outcome.stderr.text.is_empty(), "{code}: {outcome:?}");
        outcome.value.map(|value| match value {
            LastValue::Json(text) | LastValue::Printed(text) => text,
        })
    }
}

fn plan(request: Request) -> Plan {
    Policy::default().admit(request).unwrap_or_else(|refusal| panic!("{refusal}"))
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
