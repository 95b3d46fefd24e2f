//! `engine: auto`: WebAssembly first, and the host's own tools when they serve better.
//!
//! A run has no effect outside its sandbox. So one that WebAssembly cannot finish can be run again elsewhere
//! (*promotion*), and one that takes long can be run elsewhere at the same time (*hedging*). The result's `promoted` is
//! all that the caller may notice: it sees the output of one run, from start to end (see [`Stage`]).

use std::num::NonZero;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use sandbox::{
    Engine, EngineError, EngineId, GuestError, LiveOutput, Outcome, Promotion, ProvideError, Refusal, Status,
};

use crate::errand::{Errand, final_word};
use crate::stage::{Leg, Stage};
use crate::{RunError, Runtime, run_on};

/// How long a run may take in WebAssembly before it is also started natively. Most runs are over long before; one that
/// is not is probably computing, which native code does several times faster.
const HEDGE_AFTER: Duration = Duration::from_secs(1);

/// If the native run fails this soon, although WebAssembly has been running the same program for longer, the reason is
/// the host: its interpreter is older, or lacks a package. This is also how long an interpreter has to start on a busy
/// host; nothing of the run is shown before.
const PROBATION: Duration = Duration::from_secs(1);

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
                Err(ProvideError::Unsuited(reason) | ProvideError::WrongPython(reason)) => Err(reason),
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
            // Only if nobody is waiting for the turn that it takes, and there is a processor for it: with more runs
            // than processors it would slow all of them down.
            if self.turns.load().running <= processors()
                && let Some(turn) = self.turns.try_take(errand.plan.principal())
            {
                let mut leg = Leg::new(&stage, EngineId::Native);
                // Boxed, since few runs get here and the future of every run would otherwise reserve room for it.
                let second = Box::pin(async {
                    let _turn = turn;
                    // So that this is known by then: queried alongside the run, it could come after a failure, and
                    // delay that past the probation.
                    native.describe(errand.plan.language()).await.ok();
                    self.run_natively(native.as_ref(), errand, started, &mut leg).await
                });
                return Race { first, second, stage: &stage }.decide().await;
            }
            stage.commit(EngineId::Wasm);
            first.await?
        };
        let Some(reason) = outcome.unsupported.clone().filter(|_| !outcome.status.is_success()) else {
            stage.commit(EngineId::Wasm);
            return Ok(outcome);
        };
        if !stage.commit(EngineId::Native) {
            // The caller has already seen output of this run, and cannot be shown another's.
            return Ok(explain(outcome, None));
        }
        let mut leg = Leg::new(&stage, EngineId::Native);
        let promoted = Box::pin(self.run_natively(native.as_ref(), errand, started, &mut leg)).await?;
        Ok(promote(promoted, reason))
    }

    /// Runs natively what has `started` in WebAssembly, in what is left of its time.
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

/// Two runs of the same program. The first to finish wins, unless that is the native one and it fails where the other
/// has not.
struct Race<'a, 's, F, S> {
    first: Pin<&'a mut F>,
    second: Pin<Box<S>>,
    stage: &'a Stage<'s>,
}

impl<F, S> Race<'_, '_, F, S>
where
    F: Future<Output = Result<Outcome, EngineError>>,
    S: Future<Output = Result<Outcome, RunError>>,
{
    /// While nothing is shown either can win. The native one is expected to, and is shown once it has passed its
    /// probation.
    async fn decide(mut self) -> Result<Outcome, RunError> {
        let probation = async {
            self.stage.native_started().await;
            tokio::time::sleep(PROBATION).await;
        };
        tokio::select! {
            outcome = &mut self.first => match outcome {
                Ok(outcome) if is_final(&outcome) => {
                    self.stage.commit(EngineId::Wasm);
                    Ok(outcome)
                }
                // Native code may manage what this one could not, unless the caller has already seen this one's output.
                outcome if self.stage.commit(EngineId::Native) => {
                    drop(outcome);
                    self.second.await.map(native_outcome)
                }
                outcome => Ok(explain(outcome?, None)),
            },
            outcome = &mut self.second => match outcome {
                Ok(outcome) if outcome.status.is_success() && self.stage.commit(EngineId::Native) => {
                    Ok(native_outcome(outcome))
                }
                // That it cannot run here is no reason to stop the other.
                Ok(_) | Err(_) => self.go_on().await,
            },
            () = probation => {
                if self.stage.commit(EngineId::Native) { self.finish().await } else { self.go_on().await }
            }
        }
    }

    /// Leaves the run to WebAssembly alone.
    async fn go_on(self) -> Result<Outcome, RunError> {
        drop(self.second);
        self.stage.commit(EngineId::Wasm);
        Ok(explain(self.first.await?, None))
    }

    /// The native run is the one being shown.
    async fn finish(mut self) -> Result<Outcome, RunError> {
        tokio::select! {
            // If what the caller has seen is also the start of this run's output, show the rest. At the deadline, this
            // is the run that got further.
            outcome = &mut self.first => match outcome {
                Ok(outcome) if is_final(&outcome) && self.stage.switch_to(EngineId::Wasm) => Ok(outcome),
                Ok(_) | Err(_) => self.second.await.map(native_outcome),
            },
            outcome = &mut self.second => match outcome {
                Ok(outcome) => Ok(native_outcome(outcome)),
                Err(error) => {
                    let is_switched = self.stage.switch_to(EngineId::Wasm);
                    let outcome = self.first.await?;
                    let is_switched = is_switched || self.stage.switch_to(EngineId::Wasm);
                    if is_switched { Ok(explain(outcome, None)) } else { Err(error) }
                }
            },
        }
    }
}

/// Whether another engine could have done no better.
fn is_final(outcome: &Outcome) -> bool {
    let came_to_its_end = matches!(outcome.status, Status::Completed { .. } | Status::TimedOut);
    // A program that met what WebAssembly lacks, and ended well all the same, has dealt with it.
    came_to_its_end && (outcome.unsupported.is_none() || outcome.status.is_success())
}

fn native_outcome(outcome: Outcome) -> Outcome {
    promote(outcome, format!("it was still computing after {} s", HEDGE_AFTER.as_secs()))
}

fn promote(mut outcome: Outcome, reason: String) -> Outcome {
    outcome.promoted = Some(Promotion { from: EngineId::Wasm, reason });
    outcome
}

/// For an outcome that stands although another engine could do better: says so.
pub(crate) fn explain(mut outcome: Outcome, refusal: Option<&Refusal>) -> Outcome {
    if let (Some(reason), Some(GuestError { hint: hint @ None, .. })) = (&outcome.unsupported, &mut outcome.error) {
        *hint = Some(match refusal {
            Some(refusal) => format!("{reason}; the native engine could do it, but {refusal}"),
            None => format!("{reason}; run it with engine `native`"),
        });
    }
    outcome
}
