//! A run's first process, from being cloned to being its supervisor.

use std::ffi::CString;
use std::fs;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{
    DumpableBehavior, Signal, set_child_subreaper, set_dumpable_behavior, set_parent_process_death_signal,
};

use crate::cgroup::{Counters, RunGroup};
use crate::contents::{self, Contents};
use crate::failure::{At as _, Failure, Step};
use crate::guest::{self, Lockdown, MemoryHolder, Streams};
use crate::landlock::{Grant, Rule, rule};
use crate::launcher::Filters;
use crate::root;
use crate::scratch::Scratch;
use crate::session::SessionSupervisor;
use crate::spec::{Blueprint, EGRESS, Egress, Layer, Purpose, Spec, Walls};
use crate::supervisor::Supervisor;
use crate::sys::{self, Groups};
use crate::watchdog::{Processes, Watch, Watchdog};
use crate::wire::{self, Ask, Go, Namespaces, Report};

/// What it gets from the launcher that it was cloned from.
pub(crate) struct Inheritance<'a> {
    /// The run arrives here. Closed without one if there is none for this process.
    pub(crate) gate: OwnedFd,
    pub(crate) leash: &'a OwnedFd,
    pub(crate) filters: &'a Filters,
    pub(crate) memory: MemoryHolder,
    pub(crate) identity: Identity,
    pub(crate) namespaces: Namespaces,
    /// What the root of its run will most likely be made of.
    pub(crate) blueprint: Option<Blueprint>,
    pub(crate) group: &'a RunGroup,
}

/// Descriptors below this number may be given to a command.
const ABOVE_COMMANDS: i32 = 10;

/// Who the guest is outside of its namespaces.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Identity {
    /// The server's own user.
    Same,
    /// A user id that only this run has.
    Own(u32),
}

/// Waits for a run and supervises it. Never returns: what follows is the launcher's code.
pub(crate) fn main(inheritance: &Inheritance<'_>) -> ! {
    // Whatever needs no run is done while there is none.
    let prepared = prepare(inheritance);
    let Some((packed, streams, report)) = wait_for_run(inheritance) else { sys::exit_now(0) };
    let to_server = report.try_clone();
    let result = prepared.and_then(|prepared| build_and_supervise(inheritance, packed, streams, report, prepared));
    let code = match result {
        Ok(()) => 0,
        Err(failure) => {
            // Nobody to tell if this fails; the server sees the end of its reports.
            to_server.map(|report| wire::send(&report, &Report::Failed(failure), &[])).ok();
            126
        }
    };
    sys::exit_now(code)
}

/// Where the run's usage will be looked up. Opened before the root changes, so it works even if the run itself has no
/// `/proc`.
struct Prepared {
    processes: Processes,
    counters: Counters,
}

/// Everything that can be done before a run is needed.
fn prepare(inheritance: &Inheritance<'_>) -> Result<Prepared, Failure> {
    // Cloned from the launcher, this process holds its descriptors: other runs' report sockets, the far end of the
    // leash.
    sys::close_all_but(&[&inheritance.gate, inheritance.leash].map(AsRawFd::as_raw_fd)).at(Step::Supervise)?;
    inheritance.group.join().at(Step::JoinCgroup)?;
    prepare_namespaces(inheritance.namespaces)?;
    let processes = Processes::open().at_path(Step::Supervise, "/proc")?;
    let counters = inheritance.group.counters();
    if let Some(blueprint) = &inheritance.blueprint {
        match wire::receive::<Go>(&inheritance.gate) {
            Ok(Some((Go::Ahead, _))) => raise_root(blueprint, inheritance.identity, Vec::new())?,
            _ => return Err(Failure::new(Step::Receive, "the launcher is gone", libc::ECHILD)),
        }
    }
    Ok(Prepared { processes, counters })
}

fn raise_root(blueprint: &Blueprint, identity: Identity, folders: Vec<OwnedFd>) -> Result<(), Failure> {
    let groups = match identity {
        Identity::Own(_) => Groups::Clear,
        Identity::Same => Groups::Keep,
    };
    // When memory runs out, the kernel should kill this run before the server. Processes inherit this; if it is
    // refused, the host decides.
    fs::write("/proc/self/oom_score_adj", "1000").ok();
    root::raise(blueprint, groups, folders)
}

/// Settles into new namespaces: mounts must not propagate to the host, the loopback interface goes up, the host name is
/// ours.
fn prepare_namespaces(namespaces: Namespaces) -> Result<(), Failure> {
    if namespaces == Namespaces::None {
        return Ok(());
    }
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE).at(Step::PrivateMounts)?;
    rustix::system::sethostname(crate::HOSTNAME.as_bytes()).at_path(Step::PrivateMounts, "host name")?;
    match namespaces {
        Namespaces::All | Namespaces::AllButPid => sys::loopback_up().at(Step::Loopback),
        Namespaces::AllButNetwork | Namespaces::AllButPidAndNetwork | Namespaces::None => Ok(()),
    }
}

/// The run that this process is for; `None` when the launcher is gone.
fn wait_for_run(inheritance: &Inheritance<'_>) -> Option<(OwnedFd, Streams, OwnedFd)> {
    let (_, descriptors) = wire::receive::<Go>(&inheritance.gate).ok()??;
    let mut descriptors = descriptors;
    let report = (descriptors.len() > 4).then(|| descriptors.remove(4))?;
    let (packed, streams) = Streams::take(descriptors)?;
    // A command that cannot start reports why after its own descriptors are in place, so this one has to be out of
    // their way.
    let report = rustix::io::fcntl_dupfd_cloexec(report, ABOVE_COMMANDS).ok()?;
    Some((packed, streams, report))
}

fn build_and_supervise(
    inheritance: &Inheritance<'_>,
    packed: OwnedFd,
    streams: Streams,
    report: OwnedFd,
    prepared: Prepared,
) -> Result<(), Failure> {
    let Inheritance { leash, filters, memory, identity, .. } = *inheritance;
    let (spec, contents) = contents::unpack::<Spec>(packed)?;
    let leash = leash.try_clone().at(Step::Supervise)?;
    let blueprint = spec.blueprint();
    match &inheritance.blueprint {
        None => {
            if let Some(blueprint) = &blueprint {
                raise_root(blueprint, identity, folders_of(blueprint, inheritance)?)?;
            }
        }
        // The launcher chose this process for its root; the mounts must match what Landlock grants.
        raised if *raised == blueprint => {}
        Some(_) => return Err(Failure::new(Step::Receive, "another run's root", libc::EINVAL)),
    }
    let run = Run { spec: &spec, contents, streams, report, leash, memory, identity, prepared };
    match &spec.walls {
        Walls::Namespaces { .. } => run.in_namespaces(filters),
        Walls::Landlock { scratch } => run.on_host(scratch, filters),
    }
}

/// The folders granted to the run, where it is the launcher that opens them.
fn folders_of(blueprint: &Blueprint, inheritance: &Inheritance<'_>) -> Result<Vec<OwnedFd>, Failure> {
    match inheritance.identity {
        Identity::Own(_) if blueprint.view.has_grants() => match wire::receive::<Go>(&inheritance.gate) {
            Ok(Some((Go::Folders, folders))) => Ok(folders),
            _ => Err(Failure::new(Step::Receive, "the launcher is gone", libc::ECHILD)),
        },
        Identity::Own(_) | Identity::Same => Ok(Vec::new()),
    }
}

struct Run<'a> {
    spec: &'a Spec,
    contents: Contents,
    streams: Streams,
    report: OwnedFd,
    leash: OwnedFd,
    memory: MemoryHolder,
    identity: Identity,
    prepared: Prepared,
}

impl Run<'_> {
    fn in_namespaces(self, filters: &Filters) -> Result<(), Failure> {
        let workspace = root::furnish(self.spec, &self.contents)?;
        // In this network namespace, where only the run can reach it; the one who accepts on it is outside.
        let way_out = match self.spec.egress {
            Egress::None => None,
            Egress::ThroughServer => Some(TcpListener::bind(EGRESS).at_path(Step::Loopback, "the way out")?),
        };
        if self.spec.has(Layer::NonDumpableInit) {
            // This process is a copy of the launcher; a guest with the same user id could otherwise read its memory.
            set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Step::Supervise)?;
        }
        if self.spec.has(Layer::Capabilities) {
            guest::drop_capabilities()?;
        }
        // After the last change of credentials, which would clear it.
        set_parent_process_death_signal(Some(Signal::KILL)).at(Step::Supervise)?;
        self.check_leash()?;

        let pid_namespace = self.spec.has_pid_namespace();
        if !pid_namespace {
            set_child_subreaper(Some(rustix::process::getpid())).at(Step::Supervise)?;
        }
        let descriptors: Vec<BorrowedFd<'_>> =
            std::iter::once(workspace.as_fd()).chain(way_out.as_ref().map(AsFd::as_fd)).collect();
        wire::send(&self.report, &Report::Ready, &descriptors).at(Step::Supervise)?;
        drop((workspace, way_out));
        if self.spec.purpose == Purpose::Session {
            return SessionSupervisor {
                spec: self.spec,
                filter: filters.of(self.spec),
                rules: root::rules(self.spec),
                memory: self.memory,
                report: self.report,
                leash: self.leash,
                watchdog: Watchdog::new(self.prepared.processes, watch(self.memory), None),
            }
            .run();
        }
        Supervisor {
            lockdown: Lockdown {
                spec: self.spec,
                filter: filters.of(self.spec),
                rules: root::rules(self.spec),
                working_directory: Path::new(crate::spec::WORKSPACE),
                environment: environment(self.spec)?,
                memory: self.memory,
                // Counted per user namespace, and this supervisor is one process in it.
                processes: u64::from(self.spec.limits.processes) + 1,
                identity: None,
            },
            streams: self.streams,
            report: self.report,
            leash: self.leash,
            ends_with_us: pid_namespace,
            scratch: None,
            watchdog: Watchdog::new(self.prepared.processes, watch(self.memory), None),
            counters: self.prepared.counters,
        }
        .run()
    }

    fn on_host(self, scratch: &Path, filters: &Filters) -> Result<(), Failure> {
        // The guest's orphans must come to this process. No parent-death signal: it would end this process before its
        // guests.
        set_child_subreaper(Some(rustix::process::getpid())).at(Step::Supervise)?;
        set_dumpable_behavior(DumpableBehavior::NotDumpable).at(Step::Supervise)?;
        self.check_leash()?;
        let owner = match self.identity {
            Identity::Own(user) => Some(user),
            Identity::Same => None,
        };
        let scratch = Scratch::make(scratch, owner).at_path(Step::MakeScratch, scratch)?;
        self.contents.write_into(&self.spec.walls.places(), &self.spec.files, owner)?;
        let workspace =
            rustix::fs::open(scratch.workspace(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                .at(Step::MakeScratch)?;
        wire::send(&self.report, &Report::Ready, &[workspace.as_fd()]).at(Step::Supervise)?;
        drop(workspace);
        let others = if owner.is_some() { 0 } else { tasks_of_this_user() };
        let working_directory = scratch.workspace();
        let report = self.report.try_clone().at(Step::Supervise)?;
        Supervisor {
            lockdown: Lockdown {
                spec: self.spec,
                filter: filters.of(self.spec),
                rules: rules_on_host(self.spec, &scratch),
                working_directory: &working_directory,
                environment: environment(self.spec)?,
                memory: self.memory,
                // Counted over all of the user's processes on the host.
                processes: others + u64::from(self.spec.limits.processes),
                identity: owner,
            },
            streams: self.streams,
            report: self.report,
            leash: self.leash,
            ends_with_us: false,
            scratch: Some(&scratch),
            watchdog: Watchdog::new(self.prepared.processes, watch(self.memory), Some(scratch.root().to_owned())),
            counters: self.prepared.counters,
        }
        .run()?;
        // The server reads results out of the scratch directory, and says when it has.
        wait_for_release(&report);
        drop(scratch);
        Ok(())
    }

    /// Notices a launcher that died before the death signal was set: its death sent no signal.
    fn check_leash(&self) -> Result<(), Failure> {
        let mut events = [PollFd::from_borrowed_fd(self.leash.as_fd(), PollFlags::IN)];
        poll(&mut events, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).at(Step::Supervise)?;
        let [leash] = &events;
        if leash.revents().is_empty() {
            Ok(())
        } else {
            Err(Failure::new(Step::Supervise, "the launcher is gone", libc::ECHILD))
        }
    }
}

/// Memory is watched only if no cgroup holds it.
fn watch(memory: MemoryHolder) -> Watch {
    match memory {
        MemoryHolder::Cgroup => Watch::Off,
        MemoryHolder::Watchdog => Watch::On,
    }
}

/// The Landlock rules of a run on the host's own root: the same view, at the same paths, plus its scratch directory.
fn rules_on_host(spec: &Spec, scratch: &Scratch) -> Vec<Rule> {
    let read = spec.view.paths.iter().map(|path| rule(path, Grant::Read));
    let devices = root::DEVICES.iter().map(|device| rule(device, Grant::Device));
    let writable = [rule(scratch.workspace(), Grant::Write), rule(scratch.temporary(), Grant::Write)];
    read.chain(devices).chain(writable).collect()
}

fn environment(spec: &Spec) -> Result<Vec<CString>, Failure> {
    let invalid = |_| Failure::new(Step::Exec, "environment", libc::EINVAL);
    spec.environment.iter().map(|variable| CString::new(variable.as_str()).map_err(invalid)).collect()
}

/// Processes and threads that this user has on the host: `RLIMIT_NPROC` counts them too.
fn tasks_of_this_user() -> u64 {
    let user = rustix::process::getuid().as_raw();
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let mine = entries.flatten().filter(|entry| {
        let is_mine = entry.metadata().is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == user);
        is_mine && entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok())
    });
    mine.map(|entry| fs::read_dir(entry.path().join("task")).map_or(1, |tasks| tasks.count() as u64)).sum()
}

/// Waits until the server has read the run's files, or is gone. Ignores a stop that crossed with the end of the run.
fn wait_for_release(report: &OwnedFd) {
    while let Ok(Some((Ask::Stop, _))) = wire::receive::<Ask>(report) {}
}
