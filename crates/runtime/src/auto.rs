//! `engine: auto`: WebAssembly first, and the host's own tools when they serve better.
//!
//! A run has no effect outside its sandbox, so one that WebAssembly cannot finish can be run again elsewhere (*promotion*), and one that
//! takes long can be run elsewhere at the same time (*hedging*). The caller must not notice but for the result's `promoted`: it sees the
//! output of one run, from its start to its end (see [`Stage`]).

use std::num::NonZero;
use std::pin::pin;
use std::time::{Duration, Instant};

use sandbox::{Engine, EngineError, EngineId, GuestError, LiveOutput, Outcome, Plan, Promotion, Refusal, Status};

use crate::stage::{Leg, Stage};
use crate::{Runtime, run_on};

/// How long a run may take in WebAssembly before it is also started natively. Most runs are over long before; one that is not is likely
/// to compute, which native code does several times faster.
const HEDGE_AFTER: Duration = Duration::from_secs(1);

impl Runtime {
    pub(crate) async fn run_auto(
        &self,
        wasm: &dyn Engine,
        plan: Plan,
        live: &mut dyn LiveOutput,
    ) -> Result<Outcome, EngineError> {
        let native = match self.engine(EngineId::Native).map(|engine| (engine, engine.serves(plan.language()))) {
            Some((engine, Ok(()))) => engine,
            refused => {
                let outcome = run_on(wasm, plan, live).await?;
                return Ok(explain(outcome, refused.and_then(|(_, served)| served.err()).as_ref()));
            }
        };
        if let Some(reason) = wasm.prefers_another(&plan) {
            return Ok(promote(run_on(native.as_ref(), plan, live).await?, reason.to_owned()));
        }
        let started = Instant::now();
        let stage = Stage::new(live);
        let mut first_leg = Leg::new(&stage, EngineId::Wasm);
        let mut first = pin!(run_on(wasm, plan.clone(), &mut first_leg));

        let outcome = if let Ok(finished) = tokio::time::timeout(HEDGE_AFTER, &mut first).await {
            finished?
        } else {
            // Only where nobody waits for the turn that it takes, and where there is a processor for it: with more runs than processors it
            // would slow all of them.
            if self.turns.load().running <= processors()
                && let Some(_turn) = self.turns.try_take(plan.principal())
            {
                let wall = plan.limits().wall.saturating_sub(started.elapsed());
                return race(first, native.as_ref(), plan.within(wall), &stage).await;
            }
            stage.commit(EngineId::Wasm);
            first.await?
        };
        let Some(reason) = outcome.unsupported.clone().filter(|_| !outcome.status.is_success()) else {
            stage.commit(EngineId::Wasm);
            return Ok(outcome);
        };
        if !stage.commit(EngineId::Native) {
            // The caller has seen output of this run already, and cannot be shown another's.
            return Ok(explain(outcome, None));
        }
        let wall = plan.limits().wall.saturating_sub(started.elapsed());
        let promoted = run_on(native.as_ref(), plan.within(wall), &mut Leg::new(&stage, EngineId::Native)).await?;
        Ok(promote(promoted, reason))
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Two runs of the same program; the first to finish wins.
async fn race(
    mut first: std::pin::Pin<&mut impl Future<Output = Result<Outcome, EngineError>>>,
    native: &dyn Engine,
    plan: Plan,
    stage: &Stage<'_>,
) -> Result<Outcome, EngineError> {
    let mut second_leg = Leg::new(stage, EngineId::Native);
    let mut second = pin!(run_on(native, plan, &mut second_leg));
    // The one that is expected to win is the one that is shown, unless the other one's output is on show already.
    let shown = stage.commit(EngineId::Native);
    let native_outcome =
        |outcome: Outcome| promote(outcome, format!("it was still computing after {} s", HEDGE_AFTER.as_secs()));
    let wasm_outcome = tokio::select! {
        outcome = &mut first => outcome,
        outcome = &mut second, if shown => return outcome.map(native_outcome),
    };
    match wasm_outcome {
        // What the caller has seen is the start of this run's output too: show the rest. At the deadline it is this one that got further.
        Ok(outcome)
            if matches!(outcome.status, Status::Completed { .. } | Status::TimedOut)
                && outcome.unsupported.is_none() =>
        {
            if stage.switch_to(EngineId::Wasm) {
                return Ok(outcome);
            }
        }
        // Both ends are at the same deadline, or it is something that native code may be able to do.
        Ok(outcome) if !shown => return Ok(explain(outcome, None)),
        Err(error) if !shown => return Err(error),
        Ok(_) | Err(_) => {}
    }
    second.await.map(native_outcome)
}

fn promote(mut outcome: Outcome, reason: String) -> Outcome {
    outcome.promoted = Some(Promotion { from: EngineId::Wasm, reason });
    outcome
}

/// An outcome that stands although another engine could do better: says so.
pub(crate) fn explain(mut outcome: Outcome, refusal: Option<&Refusal>) -> Outcome {
    if let (Some(reason), Some(GuestError { hint: hint @ None, .. })) = (&outcome.unsupported, &mut outcome.error) {
        *hint = Some(match refusal {
            Some(refusal) => format!("{reason}; the native engine could do it, but {refusal}"),
            None => format!("{reason}; run it with engine `native`"),
        });
    }
    outcome
}
