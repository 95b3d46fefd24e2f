//! The host's process table: who of a run is still there.

use std::time::Duration;

pub use ::attacks::processes::{Process, all, find, kill, leftovers, marked, peak_memory, terminate};

/// How long after the end of a run any of its processes may still be seen: what a busy machine takes to notice an end, and far
/// less than what would stay goes on for.
pub const GRACE: Duration = Duration::from_secs(10);

/// Fails if anything marked is left after `grace`. What is left is killed first.
pub fn assert_gone(marker: &str, grace: Duration) {
    let left = leftovers(marker, grace);
    assert!(left.is_empty(), "{} processes are left {grace:?} after the run: {left:#?}", left.len());
}
