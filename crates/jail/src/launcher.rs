//! The launcher: the one process that forks. Single-threaded, with an empty environment, not dumpable; everything a run's processes are
//! cloned from is in here, so as little as possible is.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{DumpableBehavior, Signal, pidfd_send_signal, set_dumpable_behavior};
use seccompiler::BpfProgram;

use crate::cgroup::{Cgroups, RunGroup};
use crate::failure::{At as _, Failure, Step};
use crate::first::{self, Identity, Inheritance};
use crate::guest::{MemoryHolder, Streams};
use crate::identity::Identities;
use crate::seccomp::{self, Memfd, Profile, Sockets};
use crate::sys::{self, Cloned};
use crate::wire::{self, Ended, Namespaces, Order, Report};

/// Runs the launcher until the server is gone. Descriptor 0 is the server's socket.
///
/// Call it first thing in `main`, before any thread exists: everything it starts is cloned from this process.
pub fn run() -> Result<(), LauncherError> {
    assert_single_threaded()?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(io::Error::from)?;
    // A session of its own: a signal to the server's process group (Ctrl-C) is the server's to handle, and must not end the supervisors
    // before their guests. Fails only for a group leader, which a child that was just started is not.
    rustix::process::setsid().map_err(io::Error::from)?;
    // Orphans of a supervisor that was killed come to us instead of to the host's init.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(io::Error::from)?;
    sys::close_on_exec_from(3)?;
    let mut launcher = Launcher::new()?;
    launcher.serve()
}

/// Why the launcher ended.
#[derive(Debug, thiserror::Error)]
pub enum LauncherError {
    /// It must be alone: see [`sys::clone`].
    #[error("the launcher has {0} threads, and must have one")]
    Threads(usize),
    /// A step of setting up.
    #[error(transparent)]
    SetUp(#[from] Failure),
    /// A system call of its own failed.
    #[error("the launcher failed")]
    Io(#[from] io::Error),
}

fn assert_single_threaded() -> Result<(), LauncherError> {
    // Without /proc there is nothing to count with; `main` starts it before any thread could exist.
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads == 1 { Ok(()) } else { Err(LauncherError::Threads(threads)) }
}

struct Launcher {
    server: OwnedFd,
    cgroups: Cgroups,
    identities: Identities,
    filters: Filters,
    runs: Vec<Run>,
    /// Every run's first process holds the other end of this pipe, and notices when nobody holds this one any more.
    leash: Option<OwnedFd>,
    leash_end: OwnedFd,
}

/// The compiled filters: one for each kind of walls, given how this host holds memory.
pub(crate) struct Filters {
    pub(crate) namespaces: BpfProgram,
    pub(crate) landlock: BpfProgram,
}

struct Run {
    pid: i32,
    pidfd: OwnedFd,
    user: u32,
    /// Whether its first process takes all others with it.
    is_init: bool,
    group: RunGroup,
    report: OwnedFd,
}

impl Launcher {
    fn new() -> Result<Self, LauncherError> {
        let cgroups = Cgroups::discover();
        let memfd = if cgroups.holders().memory.is_some() { Memfd::Allowed } else { Memfd::Denied };
        let (leash_end, leash) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        let server = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(io::Error::from)?;
        // Runs' first processes keep descriptors 0 to 2; the server's socket must not be among them.
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?).map_err(io::Error::from)?;
        Ok(Self {
            server,
            cgroups,
            identities: Identities::choose(),
            filters: Filters {
                namespaces: seccomp::compile(Profile { sockets: Sockets::Own, memfd })?,
                landlock: seccomp::compile(Profile { sockets: Sockets::None, memfd })?,
            },
            runs: Vec::new(),
            leash: Some(leash),
            leash_end,
        })
    }

    fn serve(&mut self) -> Result<(), LauncherError> {
        loop {
            let mut events = vec![PollFd::new(&self.server, PollFlags::IN)];
            events.extend(self.runs.iter().map(|run| PollFd::new(&run.pidfd, PollFlags::IN)));
            match poll(&mut events, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(io::Error::from(error).into()),
            }
            let ready: Vec<bool> = events.iter().map(|event| !event.revents().is_empty()).collect();
            let (order, ended) = ready.split_first().map_or((false, &[][..]), |(first, rest)| (*first, rest));
            // From the back, so that indexes in front stay right.
            for index in (0..ended.len()).rev().filter(|index| ended.get(*index) == Some(&true)) {
                let run = self.runs.swap_remove(index);
                self.finish(run);
            }
            if order {
                match wire::receive::<Order>(&self.server) {
                    Ok(Some((order, descriptors))) => self.start(order, descriptors),
                    // The server is gone. Dropping the leash and ending pid 1s ends every run.
                    Ok(None) => {
                        self.end_all();
                        return Ok(());
                    }
                    // A message that cannot be read: its descriptors are closed, whoever sent it sees the end of its report socket.
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                    Err(error) => {
                        self.end_all();
                        return Err(error.into());
                    }
                }
            }
        }
    }

    fn start(&mut self, order: Order, descriptors: Vec<OwnedFd>) {
        let Ok([packed, stdin, stdout, stderr, report]) = <[OwnedFd; 5]>::try_from(descriptors) else {
            return;
        };
        let inheritance = Descriptors { packed, streams: Streams { stdin, stdout, stderr } };
        let kept = report.try_clone();
        let result = kept.at(Step::Receive).and_then(|kept| self.clone_run(order, inheritance, kept, &report));
        match result {
            Ok(run) => self.runs.push(run),
            // When the server does not hear this, it is gone, and we are about to be.
            Err(failure) => {
                wire::send(&report, &Report::Failed(failure), &[]).ok();
            }
        }
    }

    /// Clones the run's first process, gives it its place (ids, cgroups) while it waits, and lets it go.
    fn clone_run(
        &mut self,
        order: Order,
        inherited: Descriptors,
        report: OwnedFd,
        to_server: &OwnedFd,
    ) -> Result<Run, Failure> {
        let group = self.cgroups.make(order.memory, order.processes).at(Step::JoinCgroup)?;
        let (user, group_id) = self
            .identities
            .take()
            .ok_or_else(|| Failure::new(Step::MapIdentity, "all user ids are in use", libc::EAGAIN))?;
        let (gate_end, gate) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).at(Step::Clone)?;

        // A non-dumpable process's files in /proc belong to root, and an ordinary user could not write the child's uid_map. The child
        // inherits the setting of this moment and makes itself non-dumpable before it starts anything.
        set_dumpable_behavior(DumpableBehavior::Dumpable).at(Step::Clone)?;
        let cloned = sys::clone(flags(order.namespaces), group.to_clone_into());
        if !matches!(cloned, Ok(Cloned::Child)) {
            set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Step::Clone)?;
        }
        let (pid, pidfd) = match cloned.at(Step::Clone) {
            Ok(Cloned::Parent { pid, pidfd }) => (pid, pidfd),
            Ok(Cloned::Child) => {
                let memory =
                    if self.cgroups.holders().memory.is_some() { MemoryHolder::Cgroup } else { MemoryHolder::Watchdog };
                drop(gate);
                first::main(Inheritance {
                    packed: inherited.packed,
                    streams: inherited.streams,
                    report,
                    gate: gate_end,
                    leash: &self.leash_end,
                    filters: &self.filters,
                    memory,
                    identity: if self.identities.are_own() { Identity::Own(user) } else { Identity::Same },
                })
            }
            Err(failure) => {
                self.identities.give_back(user);
                return Err(failure);
            }
        };
        let is_init = flags(order.namespaces) & CLONE_NEWPID != 0;
        let run = Run { pid, pidfd, user, is_init, group, report };
        let released = self.place(&run, order, group_id).and_then(|()| {
            wire::send(to_server, &Report::Started(self.cgroups.holders()), &[run.pidfd.as_fd()]).at(Step::Clone)?;
            rustix::io::write(&gate, b"!").at(Step::Clone)
        });
        if let Err(failure) = released {
            pidfd_send_signal(&run.pidfd, Signal::KILL).ok();
            sys::reap(run.pid).ok();
            self.identities.give_back(run.user);
            return Err(failure);
        }
        Ok(run)
    }

    fn place(&self, run: &Run, order: Order, group_id: u32) -> Result<(), Failure> {
        if order.namespaces != Namespaces::None {
            self.map_identity(run, group_id)?;
        }
        run.group.join(run.pid).at(Step::JoinCgroup)
    }

    /// The child sees itself as one unprivileged user; outside that is `run.user`, never root.
    fn map_identity(&self, run: &Run, group_id: u32) -> Result<(), Failure> {
        let write = |file: &str, text: String| {
            let path = format!("/proc/{}/{file}", run.pid);
            std::fs::write(&path, text).at_path(Step::MapIdentity, file)
        };
        if !self.identities.are_own() {
            // What lets an ordinary user write a gid_map.
            write("setgroups", "deny".to_owned())?;
        }
        let inner = crate::spec::GUEST_ID;
        write("uid_map", format!("{inner} {} 1", run.user))?;
        write("gid_map", format!("{inner} {group_id} 1"))
    }

    fn finish(&mut self, run: Run) {
        let (status, usage) = sys::reap(run.pid).unwrap_or_default();
        if libc::WIFSIGNALED(status) {
            self.kill_orphans();
        }
        self.identities.give_back(run.user);
        let ended = Ended { cpu_micros: usage.cpu_micros, peak_bytes: usage.peak_bytes, group: run.group.usage() };
        // Removed before the server hears of the end, so that a finished run has left nothing.
        drop(run.group);
        // A server that is gone is noticed on its own socket.
        wire::send(&run.report, &Report::Ended(ended), &[]).ok();
    }

    /// A supervisor without a pid namespace that was killed leaves its guests to us.
    fn kill_orphans(&self) {
        let children = crate::watchdog::Scope::Descendants.processes();
        let mut orphans = 0;
        for pid in children.into_iter().filter(|pid| self.runs.iter().all(|run| run.pid != *pid)) {
            if is_child(pid) {
                orphans += 1;
                if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                    rustix::process::kill_process(pid, Signal::KILL).ok();
                    sys::reap(pid.as_raw_nonzero().get()).ok();
                }
            }
        }
        // Their children are ours now.
        if orphans > 0 {
            self.kill_orphans();
        }
    }

    /// Ends every run and waits until nothing of them is left.
    fn end_all(&mut self) {
        // Supervisors without a pid namespace see this, end their guests and remove their files.
        self.leash = None;
        for run in self.runs.drain(..) {
            if run.is_init {
                pidfd_send_signal(&run.pidfd, Signal::KILL).ok();
            }
            sys::reap(run.pid).ok();
        }
        self.kill_orphans();
    }
}

struct Descriptors {
    packed: OwnedFd,
    streams: Streams,
}

fn is_child(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let parent = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(1)?.parse::<u32>().ok());
    parent == Some(std::process::id())
}

const CLONE_NEWPID: u64 = 0x2000_0000;

fn flags(namespaces: Namespaces) -> u64 {
    let (pid, network) = match namespaces {
        Namespaces::All => (true, true),
        Namespaces::AllBut { pid, network } => (!pid, !network),
        Namespaces::None => return 0,
    };
    let mut flags =
        libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
    if network {
        flags |= libc::CLONE_NEWNET;
    }
    u64::from(flags.unsigned_abs()) | if pid { CLONE_NEWPID } else { 0 }
}
