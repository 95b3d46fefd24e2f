//! Time, for all runs of a worker: one thread that ends what is over its time, and sends on output that has waited long enough.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::protocol::RunId;
use crate::run::Run;

/// How often runs are looked at while there are any. A deadline is passed by at most this and the host call that a guest is in.
const TICK: Duration = Duration::from_millis(5);
/// How long the thread goes on ticking after the last run ended, so that a run soon after does not have to wake it.
const LINGER: Duration = Duration::from_millis(500);

/// Knows all runs that go on.
#[derive(Debug)]
pub(crate) struct Timekeeper {
    runs: Mutex<Runs>,
    wanted: Condvar,
}

#[derive(Debug, Default)]
struct Runs {
    going: Vec<Arc<Run>>,
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
