//! What all callers share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use crate::caller::Kind;

#[derive(Debug)]
pub(crate) struct Site {
    marker: String,
    started: Instant,
    over: AtomicBool,
    /// Callers hold it to read while they call.
    calling: RwLock<()>,
    tally: Mutex<BTreeMap<Kind, Tally>>,
}

#[derive(Debug, Default)]
struct Tally {
    calls: u32,
    slowest: Duration,
}

impl Site {
    pub(crate) fn new(server: i32) -> Self {
        Self {
            marker: format!("mcp-soak-{server}"),
            started: Instant::now(),
            over: AtomicBool::new(false),
            calling: RwLock::default(),
            tally: Mutex::default(),
        }
    }

    /// In the arguments of every run.
    pub(crate) fn marker(&self) -> &str {
        &self.marker
    }

    /// A word that nobody else has.
    pub(crate) fn secret(&self, own: &str) -> String {
        format!("{}-{own}-end", self.marker)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    /// Keeps [`Self::while_nobody_calls`] waiting.
    pub(crate) fn calling(&self) -> RwLockReadGuard<'_, ()> {
        self.calling.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn while_nobody_calls(&self, measure: impl FnOnce()) {
        let _silence = self.calling.write().unwrap_or_else(PoisonError::into_inner);
        measure();
    }

    pub(crate) fn count(&self, kind: Kind, took: Duration) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = tally.entry(kind).or_default();
        tally.calls += 1;
        tally.slowest = tally.slowest.max(took);
    }
}

/// Ends the load for all when it is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct Ending<'a>(pub(crate) &'a Site);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let (calls, elapsed) = (tally.values().map(|tally| tally.calls).sum::<u32>(), self.elapsed().as_secs_f64());
        write!(f, "{calls} calls in {elapsed:.1} s, {:.0} a second", f64::from(calls) / elapsed)?;
        for (kind, Tally { calls, slowest }) in &*tally {
            write!(f, "\n  {kind:?}: {calls}, the slowest {:.2} s", slowest.as_secs_f64())?;
        }
        Ok(())
    }
}
