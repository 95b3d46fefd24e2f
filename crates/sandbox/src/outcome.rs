//! What came of a run.

use std::time::Duration;

use crate::{Captured, Display, EngineId, Isolation, LimitKind, Provided, RuntimeInfo, SessionState};

/// Everything worth knowing about a run that started.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended, as the kernel tells it.
    pub status: Status,
    /// Standard output, as much of it as was kept.
    pub stdout: Captured,
    /// Standard error, as much of it as was kept, including a compiler's messages.
    pub stderr: Captured,
    /// What the compiler said about a program that did compile, where that is kept apart from the program's own output.
    pub diagnostics: Option<String>,
    /// The value of the program's last expression, for runtimes that have one.
    pub value: Option<LastValue>,
    /// What it showed besides its output.
    pub displays: Vec<Display>,
    /// What became of the interpreter, for a cell of a session.
    pub state: Option<SessionState>,
    /// What the guest's own messages say went wrong.
    pub error: Option<GuestError>,
    /// What the program needed that this engine cannot do but another might: the reason why it stopped.
    pub unsupported: Option<String>,
    /// Files of the workspace that the run made or changed, by path.
    pub files: Vec<OutputFile>,
    /// Files that were not brought back, and why.
    pub skipped_files: Vec<SkippedFile>,
    /// The engine that ran it.
    pub engine: EngineId,
    /// Why this was not the engine that was tried first.
    pub promoted: Option<Promotion>,
    /// The packages that were made ready for it.
    pub packages: Option<Provided>,
    /// What ran it.
    pub runtime: RuntimeInfo,
    /// The walls that stood.
    pub isolation: Isolation,
    /// What it cost.
    pub usage: Usage,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The program ended by itself (or its compiler did, with an error).
    Completed {
        /// Its exit code, 0 to 255.
        exit_code: u8,
    },
    /// A signal ended it that was neither ours nor a limit's.
    Crashed {
        /// The signal's number; see [`signal_name`].
        signal: i32,
    },
    /// It was still running at [`Limits::wall`](crate::Limits::wall).
    TimedOut,
    /// It was ended for passing a limit.
    LimitExceeded(LimitKind),
    /// The caller ended it.
    Cancelled,
}

impl Status {
    /// What results and logs call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::Crashed { .. } => "crashed",
            Self::TimedOut => "timed_out",
            Self::LimitExceeded(_) => "limit_exceeded",
            Self::Cancelled => "cancelled",
        }
    }

    /// Completed with exit code 0.
    pub fn is_success(self) -> bool {
        self == Self::Completed { exit_code: 0 }
    }
}

/// The value of a program's last expression. The guest made it, so it is as trustworthy as its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastValue {
    /// Plain data, as JSON text that was parsed once.
    Json(String),
    /// Anything else, as the language prints it.
    Printed(String),
}

/// A run that another engine took over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promotion {
    /// The engine that could not run it, or not as fast.
    pub from: EngineId,
    /// What about the program caused that, in one phrase.
    pub reason: String,
}

/// What went wrong in the guest's own words: parsed from its traceback or compiler output, so it is a hint for the
/// reader and never decides the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestError {
    /// The exception's type (`ZeroDivisionError`), or `CompileError`.
    pub kind: String,
    /// Its message, one line.
    pub message: String,
    /// The line of the caller's program, counted from 1, if the output names one.
    pub line: Option<u32>,
    /// What to do about it, if known.
    pub hint: Option<String>,
}

/// A file that the run made or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// Its path in the workspace; UTF-8 without control characters.
    pub path: crate::WorkspacePath,
    /// Its size in bytes.
    pub size: u64,
    /// What it holds, when the request asked for contents.
    pub contents: Option<Vec<u8>>,
}

impl OutputFile {
    /// The most files that are brought back.
    pub const MAX_COUNT: usize = 1_000;
    /// All contents together, in bytes.
    pub const MAX_CONTENTS: u64 = 64 << 20;
}

impl SkippedFile {
    /// The most files that are reported as left behind.
    pub const MAX_COUNT: usize = 100;
}

/// A file that was not brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFile {
    /// Its path, with everything unprintable escaped.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
}

/// Why a file was not brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// A symbolic link, FIFO, socket or device.
    NotRegular,
    /// Its name is not UTF-8 or has control characters.
    Name,
    /// It is too large to be brought back, or the files together are.
    TooLarge,
    /// There were more files (or directories, or levels) than we look at.
    TooMany,
    /// The guest took away our permission to read it, or reading failed.
    Unreadable,
}

impl SkipReason {
    /// One phrase for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::NotRegular => "not a regular file",
            Self::Name => "its name is not printable UTF-8",
            Self::TooLarge => "too large to bring back",
            Self::TooMany => "too many files, or nested too deep",
            Self::Unreadable => "not readable",
        }
    }
}

/// What a run cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// From the start of the sandbox to the end of its last process; for a promoted run, from the start of the first
    /// run.
    pub wall: Duration,
    /// CPU time of the run's processes.
    pub cpu: Duration,
    /// How `cpu` was measured.
    pub cpu_source: CpuSource,
    /// The most memory in use at one time, in bytes.
    pub peak_memory: u64,
    /// How `peak_memory` was measured.
    pub memory_source: MemorySource,
}

/// Where the CPU figure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuSource {
    /// A cgroup: all processes.
    Cgroup,
    /// `getrusage` of the run's reaper: all processes that ended by themselves.
    Rusage,
    /// `/proc`, read just before the run was ended: all processes, to a hundredth of a second.
    Procfs,
    /// The clock of the thread that a wasm instance ran on.
    Thread,
}

/// Where the memory figure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemorySource {
    /// A cgroup: all processes together, files in the workspace included.
    Cgroup,
    /// `getrusage` of the run's reaper: the largest single process.
    Rusage,
    /// `/proc`, read every few milliseconds: all processes together, with shared pages counted once for each.
    Procfs,
    /// The size of a wasm instance's memory, including what it shares with its snapshot, and of its files.
    Linear,
}

/// The name of a signal on Linux (`SIGSEGV`), or `SIG` and its number.
pub fn signal_name(signal: i32) -> String {
    // The order of the kernel's numbers 1 to 31, the same on x86-64 and aarch64.
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
        "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF",
        "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(signal - 1).ok().and_then(|index| NAMES.get(index));
    name.map_or_else(|| format!("SIG{signal}"), |name| format!("SIG{name}"))
}
