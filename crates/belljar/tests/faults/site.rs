//! A server that callers share, and that is killed now and then.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use testkit::mcp_http::Endpoint;
use testkit::processes;
use testkit::server::Served;

use crate::SOON;
use crate::tree::{Tree, Victim};
use crate::world::World;

/// How long after a fault a call may still be hit by it: as long as service may take to be back.
const AFTERMATH: Duration = SOON;

pub(crate) struct Site<'a> {
    world: &'a World,
    served: RwLock<Served>,
    /// Counts servers. Changed before one is killed.
    generation: AtomicU64,
    last_fault: Mutex<Instant>,
    over: AtomicBool,
    tally: Mutex<Tally>,
}

#[derive(Default)]
struct Tally {
    answers: u64,
    /// What callers were told, and how often.
    told: BTreeMap<String, u64>,
    /// How long after each fault something was served again, and one of each kind, one after the other.
    back: BTreeMap<Victim, Vec<(Duration, Duration)>>,
}

/// A server as one call sees it.
pub(crate) struct Chance {
    pub(crate) endpoint: Endpoint,
    pub(crate) generation: u64,
    started: Instant,
}

impl<'a> Site<'a> {
    pub(crate) fn open(world: &'a World) -> Self {
        Self {
            world,
            served: RwLock::new(start(world)),
            generation: AtomicU64::new(0),
            last_fault: Mutex::new(Instant::now()),
            over: AtomicBool::new(false),
            tally: Mutex::default(),
        }
    }

    pub(crate) fn server(&self) -> i32 {
        self.served.read().unwrap_or_else(PoisonError::into_inner).pid()
    }

    pub(crate) fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    /// Waits for a server, where one is being replaced.
    pub(crate) fn chance(&self) -> Chance {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        Chance {
            endpoint: Endpoint::new(served.address()),
            generation: self.generation.load(Ordering::SeqCst),
            started: Instant::now(),
        }
    }

    /// Whether the server that a call was made to has been killed since.
    pub(crate) fn was_replaced(&self, chance: &Chance) -> bool {
        self.generation.load(Ordering::SeqCst) != chance.generation
    }

    /// Whether a fault can be the reason for what a call was told.
    pub(crate) fn can_blame_a_fault(&self, chance: &Chance) -> bool {
        let last = *self.last_fault.lock().unwrap_or_else(PoisonError::into_inner);
        last + AFTERMATH > chance.started
    }

    pub(crate) fn note_answer(&self) {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).answers += 1;
    }

    pub(crate) fn note_told(&self, text: &str) {
        // Names of sessions are different in each.
        let text: String =
            text.split('`').enumerate().filter(|(place, _)| place % 2 == 0).map(|(_, part)| part).collect();
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner).told.entry(text).or_default() += 1;
    }

    pub(crate) fn note_back(&self, victim: Victim, after: (Duration, Duration)) {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).back.entry(victim).or_default().push(after);
    }

    /// Kills one process. The moment of it.
    pub(crate) fn hit(&self, victim: Victim, pid: i32) -> Instant {
        let now = Instant::now();
        *self.last_fault.lock().unwrap_or_else(PoisonError::into_inner) = now;
        if victim != Victim::Server {
            processes::kill(pid);
            return now;
        }
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        self.generation.fetch_add(1, Ordering::SeqCst);
        let tree = Tree::of(pid);
        let now = Instant::now();
        processes::kill(pid);
        served.wait().expect("our own child");
        tree.assert_gone(now, SOON);
        *served = start(self.world);
        *self.last_fault.lock().unwrap_or_else(PoisonError::into_inner) = now;
        now
    }
}

fn start(world: &World) -> Served {
    world.serve_http(&["--log", "off"]).expect("belljar serves")
}

/// Ends the load for all when it is dropped, also by a panic.
pub(crate) struct Ending<'a, 'b>(pub(crate) &'a Site<'b>);

impl Drop for Ending<'_, '_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

impl fmt::Display for Site<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        write!(f, "{} right answers", tally.answers)?;
        for (victim, times) in &tally.back {
            let (first, all): (Vec<Duration>, Vec<Duration>) = times.iter().copied().unzip();
            let [first, all] = [first, all].map(|mut times| {
                times.sort_unstable();
                format!("after {:.0?}, at most {:.0?}", times[times.len() / 2], times[times.len() - 1])
            });
            write!(f, "\n  {victim:?}: killed {} times; served again {first}; all kinds in turn {all}", times.len())?;
        }
        for (text, count) in &tally.told {
            write!(f, "\n  {count} × {text}")?;
        }
        Ok(())
    }
}
