//! Which walls stand around a run. Filled in from what a probe saw, never from what was asked for.

use std::fmt;
use std::str::FromStr;

/// How strong the isolation is as a whole. Ordered: a later one is stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something that every run needs is missing. Nothing runs at this level.
    None,
    /// Landlock, seccomp and a subreaper, on hosts that block user namespaces. No private pid, network, ipc or mount namespace.
    Landlock,
    /// All of [`Level::Full`] except a `/proc`: hosts (containers) that mask theirs do not allow a new one to be
    /// mounted.
    FullNoProc,
    /// Own namespaces and root, no capabilities, Landlock, seccomp, `/proc`.
    Full,
    /// WebAssembly alone: a guest has no system calls, but the process that hosts it is an ordinary one.
    Wasm,
    /// WebAssembly, and the process that hosts it is in a jail of one of the levels above. `missing` says what that jail lacks.
    WasmAndJail,
}

/// The weakest level that the operator accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Requirement {
    /// [`Level::Full`] or [`Level::FullNoProc`], which lacks a convenience but no wall.
    #[default]
    Full,
    /// [`Level::Landlock`] too: an explicit choice of weaker isolation.
    Landlock,
}

impl Requirement {
    /// Whether `level` is enough.
    pub fn accepts(self, level: Level) -> bool {
        level
            >= match self {
                Self::Full => Level::FullNoProc,
                Self::Landlock => Level::Landlock,
            }
    }
}

/// What enforces a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// A cgroup of the unified hierarchy.
    CgroupV2,
    /// A cgroup of a version 1 controller.
    CgroupV1,
    /// Per-process (or per-user-namespace) resource limits of the kernel.
    Rlimit,
    /// Our own pid 1 adds up figures from `/proc` every few milliseconds, and ends the run. Together with resource
    /// limits.
    Watchdog,
    /// WebAssembly: memory grows only when we say so, and there is no way to start a process.
    Wasm,
}

/// The walls that stood around a run, as probed on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Isolation {
    /// The overall level.
    pub level: Level,
    /// Layers that this host does not provide, by name (`proc`, `landlock-scope`, `pid-namespace` …). Ideally empty.
    pub missing: Vec<String>,
    /// What the operator granted this run outside of these walls (`folder /data rw`, `network example.org`). Empty
    /// unless configured.
    pub granted: Vec<String>,
    /// What holds the memory limit.
    pub memory: Enforcement,
    /// What holds the process limit.
    pub processes: Enforcement,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::FullNoProc => "full-noproc",
            Self::Full => "full",
            Self::Wasm => "wasm",
            Self::WasmAndJail => "wasm+jail",
        })
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CgroupV2 => "cgroup-v2",
            Self::CgroupV1 => "cgroup-v1",
            Self::Rlimit => "rlimit",
            Self::Watchdog => "watchdog",
            Self::Wasm => "wasm",
        })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Landlock => "landlock",
        })
    }
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "full" => Ok(Self::Full),
            "landlock" => Ok(Self::Landlock),
            other => Err(format!("`{other}` is no isolation level that can be required; use `full` or `landlock`")),
        }
    }
}
