//! What the embedder gives to a guest's context, and what it gets back when the guest is to end.

use std::time::Duration;

/// The world of one run: clocks, randomness, and somewhere for output to go. This crate asks the operating system for nothing; whatever
/// a guest can reach that is not in its own memory goes through these methods.
pub trait Host {
    /// Nanoseconds since 1970.
    fn realtime(&self) -> u64;

    /// Nanoseconds on a clock that never goes back.
    fn monotonic(&self) -> u64;

    /// Nanoseconds of CPU time that the run has used.
    fn cpu_time(&self) -> u64;

    /// Waits for so long, or until the run is over, whichever comes first. A duration of zero only asks whether it is over.
    ///
    /// An engine that interrupts guest code cannot interrupt a call of the host; this is where a call that takes long can end.
    fn sleep(&mut self, duration: Duration) -> Result<(), Interrupted>;

    /// Fills the buffer with unpredictable bytes. Never asked for more than [`MAX_RANDOM`](crate::MAX_RANDOM) at a time.
    fn random(&mut self, buffer: &mut [u8]);

    /// Takes what the guest wrote, all of it; how much is kept is the embedder's decision.
    fn output(&mut self, stream: OutputStream, bytes: &[u8]);
}

/// One of the two streams that a guest writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The run's time is over, or somebody cancelled it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run was interrupted")]
pub struct Interrupted;

/// A call that does not return to the guest; the embedder makes a trap of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// The guest called `proc_exit`.
    #[error("the guest exited with code {0}")]
    Exit(u32),
    /// The host's [`sleep`](Host::sleep) said that the run is over.
    #[error("the run was interrupted")]
    Interrupted,
}

impl From<Interrupted> for End {
    fn from(Interrupted: Interrupted) -> Self {
        Self::Interrupted
    }
}
