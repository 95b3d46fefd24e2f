//! `engine: auto`: WebAssembly first, and the host's own tools when they serve better.
//!
//! A run has no effect outside its sandbox, so one that WebAssembly cannot finish can be run again elsewhere (*promotion*), and one that
//! takes long can be run elsewhere at the same time (*hedging*). The caller must not notice but for the result's `promoted`: it sees the
//! output of one run, from its start to its end (see [`Stage`]).

use std::num::NonZero;
use std::pin::pin;
use std::time::{Duration, Instant};

use sandbox::{
    Engine, EngineError, EngineId, GuestError, LiveOutput, Outcome, Promotion, ProvideError, Refusal, Status,
};

use crate::errand::{Errand, final_word};
use crate::stage::{Leg, Stage};
use crate::{RunError, Runtime, run_on};

/// How long a run may take in WebAssembly before it is also started natively. Most runs are over long before; one that is not is likely
/// to compute, which native code does several times faster.
const HEDGE_AFTER: Duration = Duration::from_secs(1);

impl Runtime {
    pub(crate) async fn run_auto(
        &self,
        wasm: &dyn Engine,
        errand: Errand,
        live: &mut dyn LiveOutput,
    ) -> Result<Outcome, RunError> {
        let native = self.engine(EngineId::Native).map(|engine| (engine, engine.serves(errand.plan.language())));
        let native = match native {
            Some((engine, Ok(()))) => engine,
            refused => {
                let ready = self.furnish_only(&errand, EngineId::Wasm, live).await?;
                let _turn = self.turns.take(errand.plan.principal()).await;
                let outcome = run_on(wasm, ready, live).await?;
                return Ok(explain(outcome, refused.and_then(|(_, served)| served.err()).as_ref()));
            }
        };
        let ready = match wasm.prefers_another(&errand.plan).or_else(|| native.claims(&errand.plan)) {
            Some(reason) => Err(reason.to_owned()),
            None => match self.furnish(&errand, EngineId::Wasm, live).await {
                Ok(ready) => Ok(ready),
                Err(ProvideError::Unsuited(reason)) => Err(reason),
                Err(error) => return Err(final_word(error)),
            },
        };
        let ready = match ready {
            Ok(ready) => ready,
            Err(reason) => {
                let ready = self.furnish_only(&errand, EngineId::Native, live).await?;
                let _turn = self.turns.take(errand.plan.principal()).await;
                return Ok(promote(run_on(native.as_ref(), ready, live).await?, reason));
            }
        };
        let _turn = self.turns.take(errand.plan.principal()).await;
        let started = Instant::now();
        let stage = Stage::new(live);
        let mut first_leg = Leg::new(&stage, EngineId::Wasm);
        let mut first = pin!(run_on(wasm, ready, &mut first_leg));

        let outcome = if let Ok(finished) = tokio::time::timeout(HEDGE_AFTER, &mut first).await {
            finished?
        } else {
            // Only where nobody waits for the turn that it takes, and where there is a processor for it: with more runs than processors it
            // would slow all of them.
            if self.turns.load().running <= processors()
                && let Some(_turn) = self.turns.try_take(errand.plan.principal())
            {
                let mut leg = Leg::new(&stage, EngineId::Native);
                // Boxed, since few runs come here and the future of every run would have room for it.
                let second = Box::pin(self.run_natively(native.as_ref(), errand, started, &mut leg));
                return race(first, second, &stage).await;
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
        let mut leg = Leg::new(&stage, EngineId::Native);
        let promoted = Box::pin(self.run_natively(native.as_ref(), errand, started, &mut leg)).await?;
        Ok(promote(promoted, reason))
    }

    /// What has `started` in WebAssembly, in what is left of its time.
    async fn run_natively(
        &self,
        native: &dyn Engine,
        errand: Errand,
        started: Instant,
        live: &mut dyn LiveOutput,
    ) -> Result<Outcome, RunError> {
        let before = started.elapsed();
        let wall = errand.plan.limits().wall.saturating_sub(before);
        let errand = errand.with(|plan| plan.within(wall));
        let ready = self.furnish_only(&errand, EngineId::Native, live).await?;
        let mut outcome = run_on(native, ready, live).await?;
        outcome.usage.wall += before;
        Ok(outcome)
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Two runs of the same program; the first to finish wins.
async fn race(
    mut first: std::pin::Pin<&mut impl Future<Output = Result<Outcome, EngineError>>>,
    second: impl Future<Output = Result<Outcome, RunError>>,
    stage: &Stage<'_>,
) -> Result<Outcome, RunError> {
    let mut second = pin!(second);
    // The one that is expected to win is the one that is shown, unless the other one's output is on show already.
    let shown = stage.commit(EngineId::Native);
    let native_outcome =
        |outcome: Outcome| promote(outcome, format!("it was still computing after {} s", HEDGE_AFTER.as_secs()));
    let wasm_outcome = tokio::select! {
        outcome = &mut first => outcome,
        outcome = &mut second, if shown => match outcome {
            Ok(outcome) => return Ok(native_outcome(outcome)),
            // One that cannot start is no reason to stop the other. It has shown nothing.
            Err(error) => {
                let outcome = first.await?;
                return if stage.switch_to(EngineId::Wasm) { Ok(explain(outcome, None)) } else { Err(error) };
            }
        },
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
        Err(error) if !shown => return Err(error.into()),
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
