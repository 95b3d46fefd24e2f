//! Time, for all runs of a worker: one thread that ends what is over its time, and sends on output that has waited long enough.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::protocol::RunId;
use crate::run::{Interruption, Run};

/// How often runs are looked at while there are any. A run overshoots its deadline by at most this and the host call
/// that it is in.
const TICK: Duration = Duration::from_millis(5);
/// How long the thread goes on ticking after the last run ended, so that a run soon after does not have to wake it.
const LINGER: Duration = Duration::from_millis(500);
/// More than the runs that can be on their way to their threads. Cancellations of runs that were just over stay until
/// others push them out.
const EARLY_CANCELS: usize = 256;

/// Knows all runs that go on.
#[derive(Debug)]
pub(crate) struct Timekeeper {
    runs: Mutex<Runs>,
    wanted: Condvar,
}

#[derive(Debug, Default)]
struct Runs {
    going: Vec<Arc<Run>>,
    /// Cancelled, and not heard of yet: a caller can change its mind before a thread has taken its job.
    cancelled_early: VecDeque<RunId>,
    asleep: Sleep,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Sleep {
    #[default]
    No,
    /// The thread waits to be woken.
    Yes,
}

impl Timekeeper {
    pub(crate) fn new() -> Self {
        Self { runs: Mutex::default(), wanted: Condvar::new() }
    }

    /// Watches a run until it is [`Timekeeper::forget`]ten.
    pub(crate) fn watch(&self, run: &Arc<Run>) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = runs.cancelled_early.iter().position(|id| *id == run.id()) {
            runs.cancelled_early.remove(place);
            run.interrupt(Interruption::Cancelled);
        }
        runs.going.push(Arc::clone(run));
        if runs.asleep == Sleep::Yes {
            self.wanted.notify_one();
        }
    }

    pub(crate) fn forget(&self, run: &Run) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.going.retain(|going| going.id() != run.id());
    }

    pub(crate) fn find(&self, id: RunId) -> Option<Arc<Run>> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.going.iter().find(|run| run.id() == id).cloned()
    }

    /// Ends a run, also one that is not watched yet.
    pub(crate) fn cancel(&self, id: RunId) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = runs.going.iter().find(|run| run.id() == id) {
            run.interrupt(Interruption::Cancelled);
            return;
        }
        if runs.cancelled_early.len() == EARLY_CANCELS {
            runs.cancelled_early.pop_front();
        }
        runs.cancelled_early.push_back(id);
    }

    /// Has it call `rest` once more after a while, although no run has ended: something else has.
    pub(crate) fn stir(&self) {
        if self.runs.lock().unwrap_or_else(PoisonError::into_inner).asleep == Sleep::Yes {
            self.wanted.notify_one();
        }
    }

    /// The thread. `rest` is called when there has been nothing to do for a while.
    pub(crate) fn keep(&self, rest: impl Fn()) -> ! {
        let mut last_busy = Instant::now();
        let mut going = Vec::new();
        loop {
            {
                let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
                while runs.going.is_empty() && last_busy.elapsed() > LINGER {
                    rest();
                    runs.asleep = Sleep::Yes;
                    runs = self.wanted.wait(runs).unwrap_or_else(PoisonError::into_inner);
                    last_busy = Instant::now();
                }
                runs.asleep = Sleep::No;
                going.clone_from(&runs.going);
            }
            let now = Instant::now();
            if !going.is_empty() {
                last_busy = now;
            }
            for run in going.drain(..) {
                if run.is_due(now) {
                    run.call_up();
                }
                run.send_stale_output(now);
            }
            std::thread::sleep(TICK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::JobLimits;

    const LIMITS: JobLimits =
        JobLimits { wall_micros: 60_000_000, cpu_micros: 60_000_000, memory: 0, disk: 0, files: 0 };

    fn watched(timekeeper: &Timekeeper, id: u64) -> Option<Interruption> {
        let run = Arc::new(Run::start(RunId(id), &LIMITS, None));
        timekeeper.watch(&run);
        let interruption = run.interruption();
        timekeeper.forget(&run);
        interruption
    }

    #[test]
    fn who_is_cancelled_before_it_starts_ends() {
        let timekeeper = Timekeeper::new();
        timekeeper.cancel(RunId(7));
        assert_eq!(watched(&timekeeper, 6), None);
        assert_eq!(watched(&timekeeper, 7), Some(Interruption::Cancelled));
        assert_eq!(watched(&timekeeper, 7), None, "once");
        for id in 0..1_000 {
            timekeeper.cancel(RunId(id));
        }
        assert_eq!(watched(&timekeeper, 999), Some(Interruption::Cancelled));
        let held = timekeeper.runs.lock().unwrap_or_else(PoisonError::into_inner).cancelled_early.len();
        assert_eq!(held, EARLY_CANCELS - 1);
    }
}
