//! The launcher: the one process that forks. Single-threaded, with an empty environment, not dumpable. Every process of
//! a run is cloned from its memory, so it holds as little as possible.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Pid, Signal, kill_process, pidfd_send_signal, set_dumpable_behavior};

use crate::cgroup::{Cgroups, RunGroup};
use crate::failure::{At as _, Failure, Step};
use crate::first::{self, Identity, Inheritance};
use crate::folder;
use crate::guest::MemoryHolder;
use crate::identity::Identities;
use crate::scratch;
use crate::seccomp::{self, Files, Filter, Memfd, Profile, Sockets};
use crate::show::Rooms;
use crate::spec::{Blueprint, Purpose, Spec, Walls};
use crate::sys::{self, Cloned};
use crate::watchdog::Processes;
use crate::wire::{self, Demand, Ended, Go, Namespaces, Order, Report, Shown};

/// Runs the launcher until the server is gone. Descriptor 0 is the server's socket.
///
/// Call it first thing in `main`, before there is any other thread: everything it starts is cloned from this process.
pub fn run() -> Result<(), LauncherError> {
    assert_single_threaded()?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(io::Error::from)?;
    // A session of its own: a signal to the server's process group (Ctrl-C) is the server's to handle, and must not end
    // the supervisors before their guests. This fails only for a group leader, which a freshly started child is not.
    rustix::process::setsid().map_err(io::Error::from)?;
    // Orphans of a killed supervisor come to us instead of to the host's init.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(io::Error::from)?;
    sys::close_on_exec_from(3)?;
    raise_descriptor_limit();
    let mut launcher = Launcher::new()?;
    launcher.serve()
}

/// As many descriptors as we may have. The kernel counts descriptors in flight over all of a user's processes, and
/// refuses a sender once that total reaches the sender's own limit: otherwise a guest with its 1,024 in flight would
/// keep us from sending any.
pub fn raise_descriptor_limit() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).ok();
}

/// Why the launcher ended.
#[derive(Debug, thiserror::Error)]
pub enum LauncherError {
    /// It must be single-threaded: see [`sys::clone`].
    #[error("the launcher has {0} threads, and must have one")]
    Threads(usize),
    /// A step of setting up.
    #[error(transparent)]
    SetUp(#[from] Failure),
    /// One of its own system calls failed.
    #[error("the launcher failed")]
    Io(#[from] io::Error),
}

fn assert_single_threaded() -> Result<(), LauncherError> {
    // Without /proc they cannot be counted; but `main` starts the launcher before there could be another thread.
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads == 1 { Ok(()) } else { Err(LauncherError::Threads(threads)) }
}

struct Launcher {
    server: OwnedFd,
    cgroups: Cgroups,
    identities: Identities,
    filters: Filters,
    runs: Vec<Run>,
    /// Orders for which there was no user id yet.
    waiting: VecDeque<Waiting>,
    /// First processes that wait for a run, so that making one is not part of its start.
    spares: Vec<Spare>,
    /// False after one could not be made or did not last: the next run that starts turns it back on.
    makes_spares: bool,
    /// Processes that remove what runs left on the host.
    removers: Vec<(i32, OwnedFd)>,
    /// What the next run's root will most likely be made of: the same as the last one's.
    expected: Option<Blueprint>,
    /// Every first process holds the other end of this pipe, and notices when this end is closed.
    leash: Option<OwnedFd>,
    leash_end: OwnedFd,
}

/// Which of an order's descriptors is for reports: the one after the run's own.
const REPORT: usize = 4;

/// How long an order waits for a free user id; sessions keep theirs. Shorter than the server waits for us, so that it
/// hears why.
const WAITING: Duration = Duration::from_secs(20);

/// A waiting order, and the descriptors that came with it.
struct Waiting {
    order: Order,
    descriptors: Vec<OwnedFd>,
    until: Instant,
}

/// How many first processes wait in a root like the last run's: one for the next run, and one for a run that comes
/// while its replacement is being made. One more waits without a root, for a run that needs another.
const SPARES: usize = 2;

/// The compiled filters: one for each kind of walls, given what holds memory on this host.
pub(crate) struct Filters {
    namespaces: Filter,
    /// With folders of the host that a guest can change.
    granted: Filter,
    landlock: Filter,
}

impl Filters {
    pub(crate) fn of(&self, spec: &Spec) -> &Filter {
        match spec.walls {
            Walls::Namespaces { .. } if spec.view.has_writable_grants() => &self.granted,
            Walls::Namespaces { .. } => &self.namespaces,
            Walls::Landlock { .. } => &self.landlock,
        }
    }
}

/// A first process in its namespaces, with its user id and in its cgroup, waiting for a run. Used once.
struct Spare {
    pid: i32,
    pidfd: OwnedFd,
    user: u32,
    group: RunGroup,
    gate: OwnedFd,
    /// What its root is made of, if it has one.
    blueprint: Option<Blueprint>,
}

impl Spare {
    /// Whether it is still there. One that was killed closes its end of the gate before the kernel reports its end.
    fn is_there(&self) -> bool {
        has_other_end(&self.gate)
    }
}

/// Whether anyone still holds a socket's other end.
fn has_other_end(socket: &OwnedFd) -> bool {
    let mut socket = [PollFd::new(socket, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut socket, Some(&at_once)).is_ok_and(|count| count == 0)
}

/// A spare to be made, with this root or without one.
struct Wanted {
    root: Option<Blueprint>,
}

struct Run {
    pid: i32,
    pidfd: OwnedFd,
    user: u32,
    /// Whether all the others end with its first process.
    is_init: bool,
    group: RunGroup,
    report: OwnedFd,
    /// For a session: its number, and the namespaces in which more is shown to it.
    session: Option<(u64, Rooms)>,
    /// Its directory on the host, if it has one.
    scratch: Option<PathBuf>,
}

impl Launcher {
    fn new() -> Result<Self, LauncherError> {
        let cgroups = Cgroups::discover();
        let memfd = match MemoryHolder::of(cgroups.holders()) {
            MemoryHolder::Cgroup => Memfd::Allowed,
            MemoryHolder::Watchdog => Memfd::Denied,
        };
        let (leash_end, leash) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        let server = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(io::Error::from)?;
        // First processes keep descriptors 0 to 2, and the server's socket must not be among them.
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?).map_err(io::Error::from)?;
        Ok(Self {
            server,
            cgroups,
            identities: Identities::choose(),
            filters: Filters {
                namespaces: seccomp::compile(Profile { sockets: Sockets::Own, memfd, files: Files::Own })?,
                granted: seccomp::compile(Profile { sockets: Sockets::Own, memfd, files: Files::Granted })?,
                landlock: seccomp::compile(Profile { sockets: Sockets::None, memfd, files: Files::Hosts })?,
            },
            runs: Vec::new(),
            waiting: VecDeque::new(),
            spares: Vec::new(),
            makes_spares: true,
            removers: Vec::new(),
            expected: None,
            leash: Some(leash),
            leash_end,
        })
    }

    fn serve(&mut self) -> Result<(), LauncherError> {
        loop {
            let wanted = self.wanted_spare();
            let mut events = vec![PollFd::new(&self.server, PollFlags::IN)];
            events.extend(self.runs.iter().map(|run| PollFd::new(&run.pidfd, PollFlags::IN)));
            events.extend(self.spares.iter().map(|spare| PollFd::new(&spare.pidfd, PollFlags::IN)));
            events.extend(self.removers.iter().map(|(_, pidfd)| PollFd::new(pidfd, PollFlags::IN)));
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            let a_while = Timespec { tv_sec: 1, tv_nsec: 0 };
            let timeout = wanted.as_ref().map(|_| &at_once).or((!self.waiting.is_empty()).then_some(&a_while));
            match poll(&mut events, timeout) {
                // Nothing else to do.
                Ok(0) => {
                    if let Some(wanted) = wanted {
                        self.make_spare(wanted);
                    }
                    self.see_to_waiting();
                    continue;
                }
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(io::Error::from(error).into()),
            }
            let ready: Vec<bool> = events.iter().map(|event| !event.revents().is_empty()).collect();
            let (order, ended) = ready.split_first().map_or((false, &[][..]), |(first, rest)| (*first, rest));
            self.see_to_ended(ended);
            self.see_to_waiting();
            if order {
                match wire::receive::<Demand>(&self.server) {
                    Ok(Some((Demand::Run(order), descriptors))) => self.start_or_wait(order, descriptors),
                    Ok(Some((demand, descriptors))) => self.answer(&demand, &descriptors),
                    // The server is gone. Dropping the leash and ending pid 1s ends every run.
                    Ok(None) => {
                        self.end_all();
                        return Ok(());
                    }
                    // An unreadable message: its descriptors are closed, and whoever sent it sees the end of its report
                    // socket.
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                    Err(error) => {
                        self.end_all();
                        return Err(error.into());
                    }
                }
            }
        }
    }

    /// Cleans up after what has ended. The flags are for runs first, then spares, then removers.
    fn see_to_ended(&mut self, ended: &[bool]) {
        let (runs, rest) = ended.split_at_checked(self.runs.len()).unwrap_or_default();
        let (spares, removers) = rest.split_at_checked(self.spares.len()).unwrap_or_default();
        // From the back, so that the indexes in front stay valid.
        for index in (0..runs.len()).rev().filter(|index| runs.get(*index) == Some(&true)) {
            let run = self.runs.swap_remove(index);
            self.finish(run);
        }
        for index in (0..spares.len()).rev().filter(|index| spares.get(*index) == Some(&true)) {
            // Killed, by someone who may kill us too. A run given to it would be lost.
            let spare = self.spares.swap_remove(index);
            self.discard(&spare);
            self.makes_spares = false;
        }
        for index in (0..removers.len()).rev().filter(|index| removers.get(*index) == Some(&true)) {
            let (pid, _) = self.removers.swap_remove(index);
            sys::reap(pid).ok();
        }
    }

    /// What the next spare should have as its root; `None` when there are enough.
    fn wanted_spare(&self) -> Option<Wanted> {
        let waiting =
            |blueprint: &Option<Blueprint>| self.spares.iter().filter(|spare| spare.blueprint == *blueprint).count();
        if !self.makes_spares || !self.waiting.is_empty() {
            None
        } else if self.expected.is_some() && waiting(&self.expected) < SPARES {
            Some(Wanted { root: self.expected.clone() })
        } else {
            (waiting(&None) == 0).then_some(Wanted { root: None })
        }
    }

    /// Makes a first process ahead of its run. If that fails, runs make their own and report why.
    fn make_spare(&mut self, wanted: Wanted) {
        match self.first_process(Namespaces::All, wanted.root) {
            Ok(spare) => self.spares.push(spare),
            Err(_) => self.makes_spares = false,
        }
    }

    /// A spare with the root that is needed, or with none yet.
    fn take_spare(&mut self, order: &Order) -> Option<Spare> {
        if order.namespaces != Namespaces::All {
            return None;
        }
        loop {
            let position = |wanted: &Option<Blueprint>| self.spares.iter().position(|spare| spare.blueprint == *wanted);
            let index = position(&order.blueprint).or_else(|| position(&None))?;
            let spare = self.spares.swap_remove(index);
            if spare.is_there() {
                return Some(spare);
            }
            self.discard(&spare);
        }
    }

    /// Prepares for more runs like this one, and drops spares that would fit only another kind.
    fn expect_more_like(&mut self, order: Order) {
        let Some(blueprint) = order.blueprint.filter(|_| order.namespaces == Namespaces::All) else { return };
        // Sessions are rare, and granted folders must be opened when they are used: by then something else may be in
        // their place.
        if blueprint.purpose == Purpose::Session || blueprint.view.has_grants() {
            return;
        }
        let expected = Some(Blueprint { purpose: Purpose::Run, ..blueprint });
        if self.expected == expected {
            return;
        }
        self.expected = expected;
        let (kept, stale) = std::mem::take(&mut self.spares)
            .into_iter()
            .partition(|spare| spare.blueprint.is_none() || spare.blueprint == self.expected);
        self.spares = kept;
        for spare in Vec::from_iter(stale) {
            self.discard(&spare);
        }
    }

    fn start_or_wait(&mut self, order: Order, descriptors: Vec<OwnedFd>) {
        if self.has_id_for(&order) {
            self.start(order, &descriptors);
        } else {
            self.waiting.push_back(Waiting { order, descriptors, until: Instant::now() + WAITING });
        }
    }

    /// Starts waiting orders in the order in which they came, as far as there are user ids for them now. One that
    /// waited too long is started all the same, so that its failure says why. Orders that were given up hold nobody up.
    fn see_to_waiting(&mut self) {
        self.waiting.retain(|waiting| waiting.descriptors.get(REPORT).is_some_and(has_other_end));
        while let Some(first) = self.waiting.pop_front() {
            if Instant::now() < first.until && !self.has_id_for(&first.order) {
                return self.waiting.push_front(first);
            }
            self.start(first.order, &first.descriptors);
        }
    }

    /// Whether a run can have a user id. Spares already have theirs: one of them either serves or makes room.
    fn has_id_for(&mut self, order: &Order) -> bool {
        if !self.identities.are_taken() {
            return true;
        }
        let serves = |spare: &Spare| spare.blueprint.is_none() || spare.blueprint == order.blueprint;
        if order.namespaces == Namespaces::All && self.spares.iter().any(serves) {
            return true;
        }
        let Some(spare) = self.spares.pop() else { return false };
        self.discard(&spare);
        !self.identities.are_taken()
    }

    fn start(&mut self, order: Order, descriptors: &[OwnedFd]) {
        let Some(report) = descriptors.get(REPORT) else { return };
        match self.begin(&order, report, descriptors) {
            Ok(run) => {
                self.runs.push(run);
                // This run's first process could be made, so a spare can be too.
                self.makes_spares |= order.namespaces == Namespaces::All;
                self.expect_more_like(order);
            }
            // If the server does not hear this, it is gone, and we are about to be.
            Err(failure) => {
                wire::send(report, &Report::Failed(failure), &[]).ok();
            }
        }
    }

    /// Answers a question about a session.
    fn answer(&self, demand: &Demand, descriptors: &[OwnedFd]) {
        let session = |number: u64| {
            let is_it = |run: &&Run| run.session.as_ref().is_some_and(|(its, _)| *its == number);
            self.runs.iter().find(is_it)
        };
        let [answer] = descriptors else { return };
        match demand {
            Demand::Show(show) => {
                let rooms = session(show.session).and_then(|run| run.session.as_ref());
                let shown: Shown = match rooms {
                    Some((_, rooms)) => rooms.show(&show.source, &show.target),
                    None => Err(Failure::new(Step::PlaceEntry, "there is no such session", libc::ESRCH)),
                };
                wire::send(answer, &shown, &[]).ok();
            }
            Demand::Count { session: number } => {
                let usage = session(*number).map(|run| run.group.usage()).unwrap_or_default();
                wire::send(answer, &usage, &[]).ok();
            }
            Demand::Run(_) => {}
        }
    }

    /// Gives the run to a waiting first process, or to a new one.
    fn begin(&mut self, order: &Order, report: &OwnedFd, descriptors: &[OwnedFd]) -> Result<Run, Failure> {
        let first = match self.take_spare(order) {
            Some(spare) => spare,
            None => self.first_process(order.namespaces, None)?,
        };
        // While its first process can still be looked into.
        let session = match order.session {
            Some(number) => Some((number, Rooms::of(first.pid).at(Step::Receive)?)),
            None => None,
        };
        let hand_over = |first: &Spare, holders| -> Result<OwnedFd, Failure> {
            let folders = self.folders_for(first, order.blueprint.as_ref())?;
            first.group.limit(order.memory, order.processes).at(Step::JoinCgroup)?;
            wire::send(report, &Report::Started(holders), &[first.pidfd.as_fd()]).at(Step::Receive)?;
            let descriptors: Vec<_> = descriptors.iter().map(|fd| fd.as_fd()).collect();
            wire::send(&first.gate, &Go::Now, &descriptors).at(Step::Receive)?;
            if let Some(folders) = folders {
                let folders: Vec<_> = folders.iter().map(|folder| folder.as_fd()).collect();
                wire::send(&first.gate, &Go::Folders, &folders).at(Step::Receive)?;
            }
            report.try_clone().at(Step::Receive)
        };
        match hand_over(&first, self.cgroups.holders()) {
            Ok(report) => {
                let Spare { pid, pidfd, user, group, .. } = first;
                Ok(Run {
                    pid,
                    pidfd,
                    user,
                    is_init: flags(order.namespaces) & CLONE_NEWPID != 0,
                    group,
                    report,
                    session,
                    scratch: order.scratch.clone(),
                })
            }
            Err(failure) => {
                self.discard(&first);
                Err(failure)
            }
        }
    }

    /// Clones a first process and maps its ids. It settles into its namespaces and cgroup by itself, and waits for its
    /// run.
    fn first_process(&mut self, namespaces: Namespaces, blueprint: Option<Blueprint>) -> Result<Spare, Failure> {
        let (gate_end, gate) = wire::channel().at(Step::Clone)?;
        let group = self.cgroups.make().at(Step::JoinCgroup)?;
        let out_of_ids = || Failure::new(Step::MapIdentity, "all user ids are in use", libc::EAGAIN);
        let (user, group_id) = self.identities.take().ok_or_else(out_of_ids)?;

        // A non-dumpable process's files in /proc belong to root, so an ordinary user could not write the child's
        // uid_map. The child inherits the setting as it is now, and makes itself non-dumpable before it starts
        // anything.
        set_dumpable_behavior(DumpableBehavior::Dumpable).ok();
        let cloned = sys::clone(flags(namespaces), group.to_clone_into());
        if !matches!(cloned, Ok(Cloned::Child)) {
            set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
        }
        let (pid, pidfd) = match cloned.at(Step::Clone) {
            Ok(Cloned::Parent { pid, pidfd }) => (pid, pidfd),
            Ok(Cloned::Child) => {
                let memory = MemoryHolder::of(self.cgroups.holders());
                first::main(&Inheritance {
                    gate: gate_end,
                    leash: &self.leash_end,
                    filters: &self.filters,
                    memory,
                    identity: if self.identities.are_own() { Identity::Own(user) } else { Identity::Same },
                    namespaces,
                    blueprint,
                    group: &group,
                })
            }
            Err(failure) => {
                self.identities.give_back(user);
                return Err(failure);
            }
        };
        let spare = Spare { pid, pidfd, user, group, gate, blueprint };
        let mapped = if namespaces == Namespaces::None { Ok(()) } else { self.map_identity(&spare, group_id) };
        let told = mapped.and_then(|()| match spare.blueprint {
            Some(_) => wire::send(&spare.gate, &Go::Ahead, &[]).at(Step::MapIdentity),
            None => Ok(()),
        });
        match told {
            Ok(()) => Ok(spare),
            Err(failure) => {
                self.discard(&spare);
                Err(failure)
            }
        }
    }

    /// The child sees itself as one unprivileged user; outside that is `spare.user`, never root.
    fn map_identity(&self, spare: &Spare, group_id: u32) -> Result<(), Failure> {
        let write = |file: &str, text: String| {
            let path = format!("/proc/{}/{file}", spare.pid);
            std::fs::write(&path, text).at_path(Step::MapIdentity, file)
        };
        if !self.identities.are_own() {
            // Without this an ordinary user may not write a gid_map.
            write("setgroups", "deny".to_owned())?;
        }
        let inner = crate::spec::GUEST_ID;
        write("uid_map", format!("{inner} {} 1", spare.user))?;
        write("gid_map", format!("{inner} {group_id} 1"))
    }

    /// Mounts of the folders granted to a guest with an id of its own: its first process has no right to open them.
    /// `None` if there are none, or if the first process can open them itself.
    fn folders_for(&self, first: &Spare, blueprint: Option<&Blueprint>) -> Result<Option<Vec<OwnedFd>>, Failure> {
        match blueprint {
            Some(blueprint) if self.identities.are_own() && blueprint.view.has_grants() => {
                // Its group has the same number.
                folder::open_for(&blueprint.view.mounts, (first.user, first.user)).map(Some)
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Ends a first process that has no run.
    fn discard(&mut self, spare: &Spare) {
        pidfd_send_signal(&spare.pidfd, Signal::KILL).ok();
        sys::reap(spare.pid).ok();
        self.identities.give_back(spare.user);
    }

    fn finish(&mut self, run: Run) {
        let (_, usage) = sys::reap(run.pid).unwrap_or_default();
        if !run.is_init {
            // Without a pid namespace, a killed supervisor leaves its guests to us.
            self.kill_orphans();
        }
        if let Some(scratch) = &run.scratch {
            self.remove(scratch);
        }
        self.identities.give_back(run.user);
        let ended = Ended { cpu_micros: usage.cpu_micros, peak_bytes: usage.peak_bytes, group: run.group.usage() };
        // Removed before the server hears of the end: a run that is over has left nothing.
        drop(run.group);
        // If the server is gone, its own socket says so.
        wire::send(&run.report, &Report::Ended(ended), &[]).ok();
    }

    /// Removes what a run left on the host because its supervisor did not live to do it. A child does it, so that other
    /// runs do not wait.
    fn remove(&mut self, scratch: &Path) {
        if std::fs::symlink_metadata(scratch).is_err() {
            return;
        }
        match sys::clone(0, None) {
            Ok(Cloned::Parent { pid, pidfd }) => self.removers.push((pid, pidfd)),
            Ok(Cloned::Child) => {
                // Nobody may take the child for someone who could report.
                if sys::close_all_but(&[]).is_ok() {
                    scratch::remove_tree(scratch).ok();
                }
                sys::exit_now(0)
            }
            // It is swept at the next start, like anything that cannot be removed.
            Err(_) => {}
        }
    }

    /// Kills children that are not our own processes, until there are none: killing one makes its children ours.
    fn kill_orphans(&self) {
        let Ok(processes) = Processes::open() else { return };
        let is_ours = |pid: &i32| {
            let mut ours = self.runs.iter().map(|run| run.pid).chain(self.spares.iter().map(|spare| spare.pid));
            ours.any(|our| our == *pid) || self.removers.iter().any(|(remover, _)| remover == pid)
        };
        loop {
            let orphans: Vec<i32> = processes.children().into_iter().filter(|pid| !is_ours(pid)).collect();
            if orphans.is_empty() {
                return;
            }
            for signal in [Signal::STOP, Signal::KILL] {
                for pid in orphans.iter().filter_map(|pid| Pid::from_raw(*pid)) {
                    kill_process(pid, signal).ok();
                }
            }
            for pid in orphans {
                sys::reap(pid).ok();
            }
        }
    }

    /// Ends every run and waits until nothing of it is left.
    fn end_all(&mut self) {
        for spare in std::mem::take(&mut self.spares) {
            self.discard(&spare);
        }
        // Supervisors without a pid namespace see this, end their guests and remove their files.
        self.leash = None;
        let runs = std::mem::take(&mut self.runs);
        for run in &runs {
            if run.is_init {
                pidfd_send_signal(&run.pidfd, Signal::KILL).ok();
            }
            sys::reap(run.pid).ok();
        }
        self.kill_orphans();
        for scratch in runs.iter().filter_map(|run| run.scratch.as_deref()) {
            self.remove(scratch);
        }
        for (pid, _) in self.removers.drain(..) {
            sys::reap(pid).ok();
        }
    }
}

const CLONE_NEWPID: u64 = 0x2000_0000;

fn flags(namespaces: Namespaces) -> u64 {
    const COMMON: i32 =
        libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
    let common = u64::from(COMMON.unsigned_abs());
    let network = u64::from(libc::CLONE_NEWNET.unsigned_abs());
    match namespaces {
        Namespaces::All => common | CLONE_NEWPID | network,
        Namespaces::AllButPid => common | network,
        Namespaces::AllButNetwork => common | CLONE_NEWPID,
        Namespaces::AllButPidAndNetwork => common,
        Namespaces::None => 0,
    }
}
