//! Limits of a run. Every limit has a value: there is no "unlimited".

use std::fmt;
use std::time::Duration;

use crate::Bytes;

/// What a run may use. Each field is enforced; which mechanism does it is in the outcome's [`Isolation`](crate::Isolation).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Wall-clock time from the start of the first step (compiling counts) to the end.
    pub wall: Duration,
    /// CPU time of all processes of the run together.
    pub cpu: Duration,
    /// Memory of all processes of the run together.
    pub memory: Bytes,
    /// All writable places of the run together: workspace, `/tmp`, `/dev/shm`.
    pub disk: Bytes,
    /// Files and directories in those places.
    pub files: u32,
    /// Processes and threads at one time.
    pub processes: u32,
    /// What is kept of each output stream; the rest is read and counted.
    pub output: Bytes,
}

impl Limits {
    /// What a caller gets without asking.
    pub const DEFAULT: Self = Self {
        wall: Duration::from_secs(30),
        cpu: Duration::from_secs(30),
        memory: Bytes::mib(512),
        disk: Bytes::mib(256),
        files: 16_384,
        processes: 64,
        output: Bytes::mib(1),
    };

    /// The most a caller can ask for, unless the operator says otherwise.
    pub const CEILING: Self = Self {
        wall: Duration::from_mins(5),
        cpu: Duration::from_mins(10),
        memory: Bytes::gib(2),
        disk: Bytes::gib(1),
        files: 65_536,
        processes: 512,
        output: Bytes::mib(16),
    };

    /// Below this nothing useful starts, so a smaller limit is a mistake that deserves a clear message rather than a
    /// dead run.
    pub const FLOOR: Self = Self {
        wall: Duration::from_millis(1),
        cpu: Duration::from_millis(1),
        memory: Bytes::mib(16),
        disk: Bytes::mib(1),
        files: 64,
        processes: 4,
        output: Bytes::kib(1),
    };
}

/// The limits a caller asks for; the rest come from the policy's defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct LimitsRequest {
    /// See [`Limits::wall`].
    pub wall: Option<Duration>,
    /// See [`Limits::cpu`].
    pub cpu: Option<Duration>,
    /// See [`Limits::memory`].
    pub memory: Option<Bytes>,
    /// See [`Limits::disk`].
    pub disk: Option<Bytes>,
    /// See [`Limits::files`].
    pub files: Option<u32>,
    /// See [`Limits::processes`].
    pub processes: Option<u32>,
    /// See [`Limits::output`].
    pub output: Option<Bytes>,
}

/// A limit that ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// The run's processes together passed [`Limits::memory`].
    Memory,
    /// The run's processes together passed [`Limits::cpu`].
    Cpu,
    /// A file grew past what [`Limits::disk`] allows and the kernel ended its writer (`SIGXFSZ`).
    Disk,
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Disk => "disk",
        })
    }
}
