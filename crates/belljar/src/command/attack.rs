//! `belljar doctor --attack`: the attack corpus against the runs that this host and these settings give.
//!
//! Nothing is changed: what is attacked is [`stage`]'s own, and programs stop where they would do harm.

mod native;
mod report;
mod stage;
mod wasm;

use std::path::Path;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use attacks::verdict::{Finding, Verdict};
use attacks::{Level, Program};
use belljar::{Settings, engine, provision};
use runtime::{RunError, Runtime};
use sandbox::{
    Collect, Engine, EngineChoice, EngineId, Folders, Isolation, LimitsRequest, LiveOutput, Outcome, Request,
};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::arguments::DoctorArguments;
use crate::exit;
use stage::Stage;

/// Whatever is not over this long after the start never will be.
const DEADLINE: Duration = Duration::from_secs(28);

/// Runs at one time. Some want a core for themselves.
const AT_ONE_TIME: usize = 6;

pub(crate) async fn run(arguments: &DoctorArguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let Some(secret) = stage::planted(settings) else { return Err(stage::plant().into()) };
    let started = Instant::now();
    let native = engine::native(settings, arguments.without.clone()).await?;
    let isolation = native.report().isolation.clone();
    let accepted = settings.require.accepts(isolation.level) || !arguments.without.is_empty();
    let wasm = Arc::new(engine::wasm(&native, provision::installed(settings))?);
    let engines: Vec<Arc<dyn Engine>> = vec![wasm, Arc::new(native)];
    let runtime = Runtime::new(settings.policy.clone(), engines);
    let attack = Arc::new(Attack::new(settings, Stage::set(settings, secret)?, isolation, runtime)?);
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // What is stopped half way still takes its stage down, and its runs with it.
    let findings = tokio::select! {
        findings = attack.carry_out(started + DEADLINE) => findings,
        _ = interrupt.recv() => return Ok(ExitCode::from(exit::INTERRUPTED)),
        _ = terminate.recv() => return Ok(ExitCode::from(exit::TERMINATED)),
    };
    crate::report::progress("");
    let report = report::Report { level: attack.isolation.level, accepted, took: started.elapsed(), findings };
    crate::report::print(&if arguments.json { report.as_json() } else { report.as_text() })?;
    Ok(if report.passes() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Everything that the attacks share.
struct Attack {
    runtime: Runtime,
    stage: Stage,
    /// What native runs get here.
    isolation: Isolation,
    /// What decides which answers are expected.
    level: Level,
    facts: Value,
    folders: Folders,
    /// Hosts that runs can have: natively, all attacks have them.
    network: Vec<String>,
    permits: Semaphore,
}

/// One or more runs, and what came of them.
type Job = Pin<Box<dyn Future<Output = Vec<Finding>> + Send>>;

impl Attack {
    fn new(settings: &Settings, stage: Stage, isolation: Isolation, runtime: Runtime) -> anyhow::Result<Self> {
        // Where a layer is left out there is no level any more, and the others are those of a full jail.
        let level = Level::of(isolation.level).unwrap_or(Level::Full);
        let folders = settings.policy.folders.clone();
        let network = settings.policy.network.all().map(ToString::to_string).collect();
        let mut facts = stage.victims.facts(level)?;
        let first = |path: &Path| path.components().nth(1).map(|name| name.as_os_str().to_string_lossy().into_owned());
        if let Some(facts) = facts.as_object_mut() {
            let (paths, roots) =
                folders.iter().map(|folder| (json!(folder.target()), json!(first(folder.target())))).unzip();
            facts.insert("granted_folders".to_owned(), Value::Array(paths));
            facts.insert("granted_roots".to_owned(), Value::Array(roots));
        }
        let permits = Semaphore::new(AT_ONE_TIME);
        Ok(Self { runtime, stage, isolation, level, facts, folders, network, permits })
    }

    /// All of it; then the look from outside.
    async fn carry_out(self: &Arc<Self>, deadline: Instant) -> Vec<Finding> {
        let mut jobs = native::jobs(self);
        jobs.extend(wasm::jobs(self));
        let mut pending: Vec<Option<&'static str>> = jobs.iter().map(|(name, _)| Some(*name)).collect();
        let total = jobs.len();
        let mut running = JoinSet::new();
        for (number, (_, job)) in jobs.into_iter().enumerate() {
            running.spawn(async move { (number, job.await) });
        }
        let mut found: Vec<(usize, Vec<Finding>)> = Vec::new();
        let deadline = tokio::time::sleep_until(deadline.into());
        tokio::pin!(deadline);
        loop {
            crate::report::progress(&format!("attacking: {} of {total} done", found.len()));
            let joined = tokio::select! {
                joined = running.join_next() => joined,
                () = &mut deadline => None,
            };
            match joined {
                Some(Ok((number, findings))) => {
                    pending.get_mut(number).map(Option::take);
                    found.push((number, findings));
                }
                Some(Err(_)) => {}
                None => break,
            }
        }
        running.shutdown().await;
        found.sort_by_key(|(number, _)| *number);
        let unfinished = pending.into_iter().flatten().map(|name| Finding {
            group: "host",
            engine: None,
            name: name.to_owned(),
            tries: format!("{name}: everything of it"),
            verdict: Verdict::unclear(format!("not over after {} s", DEADLINE.as_secs())),
        });
        let unfinished: Vec<Finding> = unfinished.collect();
        found
            .into_iter()
            .flat_map(|(_, findings)| findings)
            .chain(unfinished)
            .chain(self.stage.look_from_outside())
            .collect()
    }

    /// One run, when it is its turn.
    async fn run(&self, run: Run<'_>) -> Result<Outcome, NoOutcome> {
        let _permit = self.permits.acquire().await;
        self.run_now(run, &mut ()).await
    }

    async fn run_now(&self, run: Run<'_>, live: &mut dyn LiveOutput) -> Result<Outcome, NoOutcome> {
        let request = Request {
            args: run.arguments,
            engine: EngineChoice::Only(run.engine),
            limits: run.limits,
            network: if run.engine == EngineId::Native { self.network.clone() } else { Vec::new() },
            collect: run.collect,
            ..Request::new(run.program.language, run.program.code)
        };
        self.runtime.run(request, live).await.map_err(|error| match error {
            RunError::Refused(_) if run.engine == EngineId::Wasm && !self.folders.is_empty() => {
                NoOutcome(Verdict::NotTried { why: "with the folders that are granted all runs are native".to_owned() })
            }
            RunError::Refused(refusal) => {
                NoOutcome(Verdict::NotTried { why: format!("{}; {}", refusal.message(), refusal.hint()) })
            }
            RunError::Failed(error) => NoOutcome(Verdict::unclear(error.to_string())),
        })
    }
}

/// What is run.
#[derive(Clone)]
struct Run<'a> {
    engine: EngineId,
    program: &'a Program,
    arguments: Vec<String>,
    limits: LimitsRequest,
    collect: Collect,
}

impl<'a> Run<'a> {
    fn new(engine: EngineId, program: &'a Program, arguments: Vec<String>) -> Self {
        Self { engine, program, arguments, limits: attacks::floods::NONE, collect: Collect::Names }
    }
}

/// The verdict on everything that a run was to try.
struct NoOutcome(Verdict);
