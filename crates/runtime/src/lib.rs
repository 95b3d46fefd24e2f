//! The story of a run, told in [`Runtime::run`].

mod auto;
mod cells;
mod draft;
mod errand;
mod sessions;
mod stage;
mod turns;

use std::sync::Arc;

use sandbox::{
    Engine, EngineChoice, EngineError, EngineId, Environments, Language, LiveOutput, Outcome, Packages, Plan, Policy,
    Refusal, Request, RuntimeInfo,
};

use crate::errand::Ready;
use crate::sessions::Sessions;
pub use crate::sessions::{SessionInfo, SessionLimits};
pub use crate::turns::Load;
use crate::turns::Turns;

/// Runs per core at one time; more wait their turn. Most runs wait for something (a sleep, a start-up), so a core can
/// take several; beyond this, queueing is faster than crowding.
const RUNS_PER_CORE: usize = 8;

/// Everything that runs need, for the lifetime of a server or of one command.
#[derive(Debug)]
pub struct Runtime {
    policy: Policy,
    /// In order of preference.
    engines: Vec<Arc<dyn Engine>>,
    turns: Turns,
    sessions: Sessions,
    packages: Option<Arc<dyn Packages>>,
    environments: Option<Arc<dyn Environments>>,
}

/// How many runs this machine executes at one time.
pub fn runs_at_one_time() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get) * RUNS_PER_CORE
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The caller has to change something.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The operator has to, or we do.
    #[error(transparent)]
    Failed(#[from] EngineError),
}

impl Runtime {
    /// `engines` in order of preference.
    pub fn new(policy: Policy, engines: Vec<Arc<dyn Engine>>) -> Self {
        let sessions = Sessions::new(SessionLimits::default());
        Self { policy, engines, turns: Turns::new(runs_at_one_time()), sessions, packages: None, environments: None }
    }

    /// Runs a request to its end. Dropping the future ends the run and everything it started.
    pub async fn run(&self, request: Request, live: &mut dyn LiveOutput) -> Result<Outcome, RunError> {
        let plan = self.admit(request)?;
        self.carry_out(plan, live).await
    }

    /// Checks a request.
    pub fn admit(&self, request: Request) -> Result<Plan, Refusal> {
        self.policy.admit(request)
    }

    /// Runs what was admitted. Dropping the future ends the run and everything it started.
    pub async fn carry_out(&self, plan: Plan, live: &mut dyn LiveOutput) -> Result<Outcome, RunError> {
        if let Some(session) = plan.session().cloned() {
            return self.run_cell(plan, &session, live).await;
        }
        let engine = self.first_that_serves(plan.language(), plan.engine())?;
        let errand = self.errand(plan).await?;
        if errand.plan.engine() == EngineChoice::Auto && engine.id() == EngineId::Wasm {
            return self.run_auto(&**engine, errand, live).await;
        }
        let ready = self.furnish_only(&errand, engine.id(), live).await?;
        let _turn = self.turns.take(ready.plan.principal()).await;
        let outcome = run_on(&**engine, ready, live).await?;
        Ok(auto::explain(outcome, None))
    }

    /// Sets the limits of sessions.
    #[must_use]
    pub fn with_session_limits(mut self, limits: SessionLimits) -> Self {
        self.sessions = Sessions::new(limits);
        self
    }

    /// Lets programs have packages.
    #[must_use]
    pub fn with_packages(mut self, packages: Arc<dyn Packages>) -> Self {
        self.packages = Some(packages);
        self
    }

    /// Lets callers choose Python environments.
    #[must_use]
    pub fn with_environments(mut self, environments: Arc<dyn Environments>) -> Self {
        self.environments = Some(environments);
        self
    }

    /// Python environments, if callers may choose any.
    pub fn environments(&self) -> Result<&dyn Environments, Refusal> {
        let none = || Refusal::new("type", "this server has no Python environments", "use `run_code` as it is");
        self.environments.as_deref().ok_or_else(none)
    }

    /// Gives no caller more than this many runs at one time; its further requests wait. Without this, a caller who is
    /// alone may have all.
    #[must_use]
    pub fn with_most_per_caller(self, most: usize) -> Self {
        self.turns.limit_callers(most);
        self
    }

    /// How busy the runtime is.
    pub fn load(&self) -> Load {
        self.turns.load()
    }

    /// Starts ahead of time what the first runs would have to wait for. Whatever fails here fails again in a run, and
    /// is reported there.
    pub async fn warm_up(&self) {
        for engine in self.allowed(self.policy.usual_engine()) {
            engine.get_ready().await.ok();
        }
    }

    /// What callers may ask for.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The engines that serve a language here, in order of preference, or why none does.
    pub fn engines_for(&self, language: &'static Language) -> Result<Vec<EngineId>, Refusal> {
        let choice = self.policy.usual_engine();
        self.first_that_serves(language, choice)?;
        let serving = self.allowed(choice).filter(|engine| engine.serves(language).is_ok());
        Ok(serving.map(|engine| engine.id()).collect())
    }

    /// The version of what runs a language here, if it is known without asking.
    pub fn known_version(&self, language: &'static Language) -> Option<&str> {
        self.first_that_serves(language, self.policy.usual_engine()).ok()?.known_version(language)
    }

    /// What runs a language here, or why nothing does.
    pub async fn describe(&self, language: &'static Language) -> Result<(EngineId, RuntimeInfo), RunError> {
        let engine = self.first_that_serves(language, self.policy.usual_engine())?;
        Ok((engine.id(), engine.describe(language).await?))
    }

    fn engine(&self, id: EngineId) -> Option<&Arc<dyn Engine>> {
        self.engines.iter().find(|engine| engine.id() == id)
    }

    fn allowed(&self, choice: EngineChoice) -> impl Iterator<Item = &Arc<dyn Engine>> {
        self.engines.iter().filter(move |engine| match choice {
            EngineChoice::Auto => true,
            EngineChoice::Only(id) => engine.id() == id,
        })
    }

    fn first_that_serves(
        &self,
        language: &'static Language,
        choice: EngineChoice,
    ) -> Result<&Arc<dyn Engine>, Refusal> {
        let mut last_refusal = None;
        for engine in self.allowed(choice) {
            match engine.serves(language) {
                Ok(()) => return Ok(engine),
                Err(refusal) => last_refusal = Some(refusal),
            }
        }
        Err(last_refusal.unwrap_or_else(|| {
            let names: Vec<String> = self.engines.iter().map(|engine| format!("`{}`", engine.id())).collect();
            let asked = match choice {
                EngineChoice::Only(id) => format!("`engine` asks for `{id}`, which this build does not have"),
                EngineChoice::Auto => "this server has no engine".to_owned(),
            };
            Refusal::new("engine", asked, format!("use `auto` or one of {}", names.join(", ")))
        }))
    }
}

async fn run_on(engine: &dyn Engine, ready: Ready, live: &mut dyn LiveOutput) -> Result<Outcome, EngineError> {
    let mut outcome = engine.open(ready.plan).await?.run(live).await?;
    outcome.packages = ready.packages;
    Ok(outcome)
}
