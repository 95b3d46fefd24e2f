//! What went wrong while setting up a jail: the step, what it was working on, and the kernel's answer.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

/// A step that failed. Crosses from the jailed process to the server, so it is plain data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The step.
    pub step: Step,
    /// What it was working on: a path, a controller, a limit. May be empty.
    pub subject: String,
    /// The kernel's error number.
    pub errno: i32,
}

/// The steps of setting up a jail, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is named after its step, and `describe` says it in words")]
pub enum Step {
    Receive,
    Clone,
    MapIdentity,
    JoinCgroup,
    PrivateMounts,
    OpenSource,
    MapFolder,
    AssumeIdentity,
    MountRoot,
    PlaceEntry,
    MountProc,
    MountDevices,
    MountScratch,
    WriteFiles,
    PivotRoot,
    SealRoot,
    Loopback,
    MakeScratch,
    Supervise,
    Fork,
    Stdio,
    Rlimit,
    NoNewPrivileges,
    Landlock,
    Capabilities,
    Seccomp,
    Exec,
}

impl Step {
    /// The step in words, to follow "cannot".
    pub fn describe(self) -> &'static str {
        match self {
            Self::Receive => "take the launcher's order",
            Self::Clone => "create namespaces",
            Self::MapIdentity => "map user ids",
            Self::JoinCgroup => "use a cgroup",
            Self::PrivateMounts => "make mounts private",
            Self::OpenSource => "open a directory to show the guest",
            Self::MapFolder => {
                "give guests the rights of a folder's owner; run belljar as that user, or let everybody write there"
            }
            Self::AssumeIdentity => "take on the guest's user id",
            Self::MountRoot => "mount a root for the guest",
            Self::PlaceEntry => "show the guest a directory",
            Self::MountProc => "mount /proc",
            Self::MountDevices => "set up /dev",
            Self::MountScratch => "mount the guest's writable space",
            Self::WriteFiles => "write the guest's files",
            Self::PivotRoot => "change the root",
            Self::SealRoot => "make the root read-only",
            Self::Loopback => "bring the loopback interface up",
            Self::MakeScratch => "make a scratch directory",
            Self::Supervise => "supervise the guest",
            Self::Fork => "start the guest's process",
            Self::Stdio => "connect standard input and output",
            Self::Rlimit => "set resource limits",
            Self::NoNewPrivileges => "forbid new privileges",
            Self::Landlock => "restrict files with Landlock",
            Self::Capabilities => "drop capabilities",
            Self::Seccomp => "restrict system calls",
            Self::Exec => "execute the program",
        }
    }
}

impl Failure {
    pub(crate) fn new(step: Step, subject: impl Into<String>, errno: i32) -> Self {
        Self { step, subject: subject.into(), errno }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.step.describe())?;
        if !self.subject.is_empty() {
            write!(f, " (`{}`)", self.subject)?;
        }
        write!(f, ": {}", io::Error::from_raw_os_error(self.errno))
    }
}

impl std::error::Error for Failure {}

/// Names the step that a system call was part of.
pub(crate) trait At<T> {
    fn at(self, step: Step) -> Result<T, Failure>;
    fn at_path(self, step: Step, subject: impl AsRef<std::ffi::OsStr>) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, step: Step) -> Result<T, Failure> {
        self.at_path(step, "")
    }

    fn at_path(self, step: Step, subject: impl AsRef<std::ffi::OsStr>) -> Result<T, Failure> {
        self.map_err(|error| {
            let errno = error.into().raw_os_error().unwrap_or(libc::EIO);
            Failure::new(step, subject.as_ref().to_string_lossy(), errno)
        })
    }
}
