//! The one object that describes a jail completely. Mounts, Landlock rules, resource limits and the seccomp filter are
//! all read off it, so none of them can allow a place or a permission that the others do not know of.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::view::View;

/// Where a guest's files are, and where it starts, behind [`Walls::Namespaces`].
pub(crate) const WORKSPACE: &str = "/box";
pub(crate) const BUILD: &str = "/tmp/build";
/// The user and group id that a guest sees itself as.
pub(crate) const GUEST_ID: u32 = 1000;

/// A jail and what runs in it.
/// A guest gets exactly: what [`View`] lists, read-only except for folders that the operator lets it change; the
/// workspace, `/tmp`, `/var/tmp` and `/dev/shm`, writable within one budget; `/dev/{null,zero,full,random,urandom}`; a
/// `/proc` of its own processes where the host allows one; a loopback interface, with the one way out that [`Egress`]
/// allows; the environment and the descriptors 0, 1 and 2 given here. Nothing else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spec {
    /// Which walls to build.
    pub walls: Walls,
    /// Host paths that the guest can read.
    pub view: View,
    /// Whether its network has a way out: a listening socket on [`EGRESS`], on which only the server accepts. Needs
    /// namespaces.
    pub egress: Egress,
    /// Limits.
    pub limits: Limits,
    /// Environment of every command, `NAME=value`. Text without NUL.
    pub environment: Vec<String>,
    /// Files put into the run's directories before the start. Their contents follow the encoded spec, in this order.
    pub files: Vec<File>,
    /// Run one after the other, up to the first that fails. At least one.
    pub commands: Vec<Command>,
    /// What the jail is for: a run, one that waits for its program, a session, or a probe of the walls.
    pub purpose: Purpose,
    /// Layers left out, so that tests can show what each one stops. Always empty in the product; anything else is level
    /// `none`.
    pub without: Vec<Layer>,
}

/// Where a session can be shown folders: places that stay empty until then.
pub(crate) fn session_places() -> impl Iterator<Item = PathBuf> {
    (1..=SESSION_PLACES).flat_map(|number| [python_place(number), node_place(number)])
}

/// The n-th place for a folder of Python packages.
pub fn python_place(number: usize) -> PathBuf {
    format!("{SHOWN}/python/{number}").into()
}

/// The n-th place for a folder of Node packages; Node looks for this name.
pub fn node_place(number: usize) -> PathBuf {
    format!("{SHOWN}/node/{number}/node_modules").into()
}

/// How many folders of each kind a session can be shown.
pub const SESSION_PLACES: usize = 16;

/// The directory above all of those places.
pub(crate) const SHOWN: &str = "/packages";

/// Where a guest finds its way out, if it has one.
pub const EGRESS: std::net::SocketAddrV4 = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 3128);

/// A way out of a jail's network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Egress {
    /// There is none.
    None,
    /// What is sent to [`EGRESS`] reaches the server.
    ThroughServer,
}

/// Which set of walls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Walls {
    /// Namespaces and a root of its own, then capabilities, Landlock and seccomp.
    Namespaces {
        /// Whether a `/proc` is mounted. Hosts that mask their own do not allow that.
        proc: Proc,
    },
    /// Landlock, seccomp and a subreaper only.
    Landlock {
        /// A host directory for this run alone: made when it starts, removed after it ends. Its parent must exist, and
        /// only the server's user may be able to write there.
        scratch: PathBuf,
    },
}

/// What a run's root is made of: the part of a [`Spec`] that most runs share, so that a root can be built before its
/// run is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Blueprint {
    pub(crate) view: View,
    pub(crate) proc: Proc,
    pub(crate) processes: PidScope,
    pub(crate) purpose: Purpose,
}

/// Which processes a run is among.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PidScope {
    /// Its own.
    Own,
    /// The host's, in tests that show what a pid namespace is for.
    Hosts,
}

/// Where things are, as the guest sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The workspace, where commands start.
    pub workspace: PathBuf,
    /// Where compilers put their output; outside the workspace.
    pub build: PathBuf,
    /// `HOME` and `TMPDIR`.
    pub temporary: PathBuf,
}

impl Walls {
    /// Where things are within these walls.
    pub fn places(&self) -> Places {
        match self {
            Self::Namespaces { .. } => {
                Places { workspace: WORKSPACE.into(), build: BUILD.into(), temporary: "/tmp".into() }
            }
            Self::Landlock { scratch } => Places {
                workspace: scratch.join(crate::scratch::SCRATCH_WORKSPACE),
                build: scratch.join(crate::scratch::SCRATCH_BUILD),
                temporary: scratch.join(crate::scratch::SCRATCH_TEMPORARY),
            },
        }
    }
}

/// Whether there is a `/proc` inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proc {
    /// A fresh one, read-only.
    Fresh,
    /// An empty directory.
    Absent,
}

/// What the guest may use, all of its processes together unless stated otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes in all writable places.
    pub disk: u64,
    /// Files and directories in all writable places.
    pub files: u32,
    /// Processes and threads at one time.
    pub processes: u32,
    /// Milliseconds of CPU time.
    pub cpu_millis: u64,
    /// Milliseconds from the start of the first command to the end of the last.
    pub wall_millis: u64,
}

/// A file that is there before the first command starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The directory it goes into.
    pub place: Place,
    /// Relative, without `..`; directories on the way are made.
    pub path: String,
    /// How many bytes of the contents are this file's.
    pub length: u64,
}

/// Where a file goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// [`Places::workspace`].
    Workspace,
    /// [`Places::build`].
    Build,
}

/// Commands that a session starts while it is running.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Batch {
    /// Environment of every command, `NAME=value`.
    pub environment: Vec<String>,
    /// Files written first, over any that exist. Their contents follow the encoded batch, in this order.
    pub files: Vec<File>,
    /// Run one after the other, up to the first that fails. At least one.
    pub commands: Vec<Command>,
}

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Its path as the guest sees it.
    pub program: PathBuf,
    /// Its arguments, the zeroth included.
    pub arguments: Vec<String>,
    /// Where its input and output go.
    pub stdio: Stdio,
    /// Whether its address space is limited to the memory limit on hosts without memory cgroups.
    pub address_space: AddressSpace,
}

/// Where a command's standard input and output go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdio {
    /// The run's own three streams.
    Program,
    /// A compiler's: no input, and everything it prints goes to standard error, which leaves standard output to the
    /// program.
    Compiler,
}

/// Whether `RLIMIT_AS` is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AddressSpace {
    /// Set to the memory limit where no memory cgroup holds it.
    Limited,
    /// Left alone: the runtime reserves far more than it uses.
    Free,
}

/// Why the jail is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// To run a guest.
    Run,
    /// To run one whose program comes later, with [`Monitor::begin`](crate::Monitor::begin). Until then it is checked
    /// less and less often, and may use no more than this.
    Wait(Waiting),
    /// To stay: commands come in batches over time. Has no commands of its own, and needs namespaces.
    Session,
    /// To see which walls stand: the first command's process looks around from inside, reports, and then executes.
    Probe,
}

/// What a guest may use before its program comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Bytes of memory.
    pub memory: u64,
    /// Milliseconds of CPU time.
    pub cpu_millis: u64,
}

/// A layer that [`Spec::without`] can leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is named after its layer")]
pub enum Layer {
    Seccomp,
    Landlock,
    PidNamespace,
    NetworkNamespace,
    NonDumpableInit,
    Capabilities,
    NoNewPrivileges,
    Rlimits,
}

impl Layer {
    /// Every layer, with its name in results.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Seccomp, "seccomp"),
        (Self::Landlock, "landlock"),
        (Self::PidNamespace, "pid-namespace"),
        (Self::NetworkNamespace, "network-namespace"),
        (Self::NonDumpableInit, "non-dumpable-init"),
        (Self::Capabilities, "capabilities"),
        (Self::NoNewPrivileges, "no-new-privs"),
        (Self::Rlimits, "rlimits"),
    ];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(layer, _)| *layer == self).map_or("", |(_, name)| name)
    }
}

impl Spec {
    pub(crate) fn has(&self, layer: Layer) -> bool {
        !self.without.contains(&layer)
    }

    /// What its root is made of; `None` where it has the host's.
    pub(crate) fn blueprint(&self) -> Option<Blueprint> {
        match self.walls {
            Walls::Namespaces { proc } => Some(Blueprint {
                view: self.view.clone(),
                proc,
                processes: if self.has(Layer::PidNamespace) { PidScope::Own } else { PidScope::Hosts },
                // Its root is the same as any run's.
                purpose: if matches!(self.purpose, Purpose::Wait(_)) { Purpose::Run } else { self.purpose },
            }),
            Walls::Landlock { .. } => None,
        }
    }

    /// Whether the guest's processes are in a pid namespace, whose init ends them all.
    pub(crate) fn has_pid_namespace(&self) -> bool {
        matches!(self.walls, Walls::Namespaces { .. }) && self.has(Layer::PidNamespace)
    }
}
