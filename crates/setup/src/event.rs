//! What provisioning says while it goes on, and how to stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::{Failure, SetupError};

/// What is going on. Every runtime is [`Event::Started`] first and [`Event::Done`] or [`Event::Failed`] last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Its turn has come.
    Started {
        /// The runtime.
        name: &'static str,
    },
    /// Another process is at it, or at another runtime that needs the same work folder.
    Waiting {
        /// The runtime that waits.
        name: &'static str,
        /// What the other process is doing, as far as it says: `building python`.
        other: String,
    },
    /// Its recipe is run, which takes a while.
    Building {
        /// The runtime.
        name: &'static str,
        /// About how long, on two cores.
        takes: Duration,
    },
    /// The next step, or more about the one that is going on.
    Step {
        /// The runtime.
        name: &'static str,
        /// Which step, from 1.
        index: u32,
        /// Of how many.
        of: u32,
        /// What is done in it.
        text: String,
    },
    /// It is usable.
    Done {
        /// The runtime.
        name: &'static str,
        /// Its version.
        version: String,
        /// What had to be done.
        how: How,
        /// How long that took.
        took: Duration,
    },
    /// It is not.
    Failed {
        /// The runtime.
        name: &'static str,
        /// Why.
        failure: Failure,
    },
}

/// What had to be done for a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Nothing: it was there, or another process has just done it.
    Found,
    /// Only the compilation for this machine.
    Compiled,
    /// A snapshot from the recipe's kept result, and the compilation.
    Snapshotted,
    /// Everything, recipe first.
    Built,
    /// It came out of an exported file, and was compiled.
    Imported,
}

/// Stops provisioning from elsewhere. Clones stop the same.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Stops it soon: a recipe is ended at once, a snapshot or compilation first comes to its end (seconds).
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn check(&self) -> Result<(), SetupError> {
        if self.0.load(Ordering::Relaxed) { Err(SetupError::Cancelled) } else { Ok(()) }
    }
}

/// Reports on one runtime.
pub(crate) struct Reporter<'a> {
    pub(crate) name: &'static str,
    pub(crate) events: &'a mut dyn FnMut(Event),
}

impl Reporter<'_> {
    pub(crate) fn step(&mut self, index: u32, of: u32, text: &str) {
        (self.events)(Event::Step { name: self.name, index, of, text: text.to_owned() });
    }

    pub(crate) fn waiting(&mut self, other: String) {
        (self.events)(Event::Waiting { name: self.name, other });
    }
}
