//! The last steps of the process that becomes the guest's program. Order matters: each step needs something that a
//! later one takes away.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::process::{Resource, Rlimit};
use rustix::thread::CapabilitySet;

use crate::failure::{At as _, Failure, Step};
use crate::landlock::{self, Network, Rule};
use crate::probe;
use crate::seccomp::Filter;
use crate::spec::{AddressSpace, Command, Layer, Purpose, Spec, Stdio, Walls};
use crate::sys;
use crate::wire::{self, Holders, Report, Swap};

/// The run's three streams, as the jail's first process holds them.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// Descriptor 3 of a session's commands, on which they are told what to do next.
    pub(crate) control: Option<OwnedFd>,
}

impl Streams {
    /// From the descriptors that came with a message: the first of them, then the streams.
    pub(crate) fn take(descriptors: Vec<OwnedFd>) -> Option<(OwnedFd, Self)> {
        let mut descriptors = descriptors.into_iter();
        let (first, stdin, stdout, stderr) =
            (descriptors.next()?, descriptors.next()?, descriptors.next()?, descriptors.next()?);
        Some((first, Self { stdin, stdout, stderr, control: descriptors.next() }))
    }
}

/// What every command of a run is locked down with.
#[derive(Debug)]
pub(crate) struct Lockdown<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) filter: &'a Filter,
    pub(crate) rules: Vec<Rule>,
    pub(crate) working_directory: &'a Path,
    /// `NAME=value`.
    pub(crate) environment: Vec<CString>,
    pub(crate) memory: MemoryHolder,
    /// The most processes and threads, as `RLIMIT_NPROC` must be set.
    pub(crate) processes: u64,
    /// A user id of its own to take on first, if the server is root and there is no user namespace.
    pub(crate) identity: Option<u32>,
}

/// What bounds the run's memory as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryHolder {
    Cgroup,
    /// Nothing in the kernel: per-process limits and the supervisor's watchdog do.
    Watchdog,
}

impl MemoryHolder {
    /// A cgroup that does not limit swap limits only what is in memory at one time.
    pub(crate) fn of(holders: Holders) -> Self {
        match holders {
            Holders { memory: Some(_), swap: Swap::Held, .. } => Self::Cgroup,
            Holders { memory: Some(_), swap: Swap::Free, .. } | Holders { memory: None, .. } => Self::Watchdog,
        }
    }
}

/// Becomes `command`. Returns only if a step failed.
pub(crate) fn enter(lockdown: &Lockdown<'_>, command: &Command, streams: &Streams, report: &OwnedFd) -> Failure {
    match lock_down(lockdown, command, streams, report) {
        Ok(never) => match never {},
        Err(failure) => failure,
    }
}

enum Never {}

fn lock_down(
    lockdown: &Lockdown<'_>,
    command: &Command,
    streams: &Streams,
    report: &OwnedFd,
) -> Result<Never, Failure> {
    let spec = lockdown.spec;
    // Everything that allocates or opens comes first; after Landlock and seccomp little would work.
    let program = c_string(command.program.as_os_str().as_bytes())?;
    let arguments =
        command.arguments.iter().map(|argument| c_string(argument.as_bytes())).collect::<Result<Vec<_>, _>>()?;

    // No controlling terminal, and not in the server's process group.
    rustix::process::setsid().at(Step::Stdio)?;
    sys::reset_signals().at(Step::Stdio)?;
    std::env::set_current_dir(lockdown.working_directory).at_path(Step::Stdio, lockdown.working_directory)?;
    connect(command.stdio, streams)?;

    if let Some(user) = lockdown.identity {
        if spec.has(Layer::Capabilities) {
            // While we are still root: this takes root.
            empty_bounding_set()?;
        }
        sys::assume_identity(user, user, sys::Groups::Clear).at(Step::AssumeIdentity)?;
    }
    // When memory runs out, the kernel should kill guests before their supervisor, which has to clean up after them.
    // With namespaces /proc is read-only by now, and the whole run was marked at its start.
    std::fs::write("/proc/self/oom_score_adj", "1000").ok();
    // Without a pid namespace, a supervisor that is killed takes at least its direct child down with it.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).at(Step::Supervise)?;
    if spec.has(Layer::Rlimits) {
        set_rlimits(lockdown, command)?;
    }
    if spec.has(Layer::NoNewPrivileges) {
        // Set-user-id programs gain nothing; an ordinary user also needs this to install the next two.
        rustix::thread::set_no_new_privs(true).at(Step::NoNewPrivileges)?;
    }
    if spec.has(Layer::Landlock) {
        let network = match spec.walls {
            Walls::Namespaces { .. } => Network::Open,
            Walls::Landlock { .. } => Network::Closed,
        };
        landlock::restrict(&lockdown.rules, network)?;
    }
    if spec.has(Layer::Capabilities) {
        drop_capabilities()?;
    }
    // Last, since it denies calls that the steps above make. If the program is refused here, it never runs.
    if spec.has(Layer::Seccomp) {
        crate::seccomp::install(lockdown.filter)?;
    }
    if spec.purpose == Purpose::Probe {
        let seen = probe::look_around(spec);
        wire::send(report, &Report::Probed(seen), &[]).at(Step::Exec)?;
    }
    Err(sys::execute(&program, &arguments, &lockdown.environment)).at_path(Step::Exec, &command.program)
}

fn c_string(bytes: &[u8]) -> Result<CString, Failure> {
    CString::new(bytes).map_err(|_| Failure::new(Step::Exec, String::from_utf8_lossy(bytes), libc::EINVAL))
}

/// The descriptor on which a session's commands are told what to do.
const CONTROL: RawFd = 3;

/// Leaves descriptors 0, 1 and 2 open past the exec, 3 for a session's commands, and no others.
fn connect(stdio: Stdio, streams: &Streams) -> Result<(), Failure> {
    match stdio {
        Stdio::Program => {
            rustix::stdio::dup2_stdin(&streams.stdin).at(Step::Stdio)?;
            rustix::stdio::dup2_stdout(&streams.stdout).at(Step::Stdio)?;
        }
        Stdio::Compiler => {
            let nothing = std::fs::File::open("/dev/null").at_path(Step::Stdio, "/dev/null")?;
            rustix::stdio::dup2_stdin(nothing.as_fd()).at(Step::Stdio)?;
            rustix::stdio::dup2_stdout(&streams.stderr).at(Step::Stdio)?;
        }
    }
    rustix::stdio::dup2_stderr(&streams.stderr).at(Step::Stdio)?;
    match &streams.control {
        Some(control) => {
            sys::place_at(control, CONTROL).at(Step::Stdio)?;
            sys::close_on_exec_from(CONTROL.unsigned_abs() + 1).at(Step::Stdio)
        }
        None => sys::close_on_exec_from(3).at(Step::Stdio),
    }
}

/// Per-process limits. Those on memory, processes and CPU back up whatever holds them for the run as a whole.
fn set_rlimits(lockdown: &Lockdown<'_>, command: &Command) -> Result<(), Failure> {
    /// Room for the program's own text and libraries, which take up address space but none of the run's memory.
    const MAPPED_FILES: u64 = 64 << 20;
    let limits = &lockdown.spec.limits;
    // Seconds, rounded up: the supervisor counts in milliseconds and gets there first.
    let cpu_seconds = limits.cpu_millis.div_ceil(1000) + 1;
    let mut wanted = vec![
        // No core dump, which would leave guest memory on the host. Not 0: with that the kernel still starts a handler
        // that `core_pattern` names with a pipe (systemd-coredump, apport); 1 is how to tell it never to.
        (Resource::Core, 1),
        // No real-time or raised priority, which the server's user may have: a guest could starve our supervisor with
        // it.
        (Resource::Rtprio, 0),
        (Resource::Nice, 0),
        (Resource::Nofile, 1024),
        (Resource::Memlock, 1 << 20),
        (Resource::Msgqueue, 0),
        (Resource::Sigpending, 256),
        (Resource::Fsize, limits.disk),
        (Resource::Nproc, lockdown.processes),
        (Resource::Cpu, cpu_seconds),
    ];
    if lockdown.memory == MemoryHolder::Watchdog && command.address_space == AddressSpace::Limited {
        wanted.push((Resource::As, limits.memory + MAPPED_FILES));
    }
    for (resource, value) in wanted {
        // A hard limit can only go down, and the host's may already be lower.
        let value = rustix::process::getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
        let limit = Rlimit { current: Some(value), maximum: Some(value) };
        rustix::process::setrlimit(resource, limit).at_path(Step::Rlimit, format!("{resource:?}"))?;
    }
    Ok(())
}

/// Leaves no capability in any set, and none to be regained.
pub(crate) fn drop_capabilities() -> Result<(), Failure> {
    empty_bounding_set()?;
    rustix::thread::clear_ambient_capability_set().at_path(Step::Capabilities, "ambient set")?;
    let none = rustix::thread::CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).at(Step::Capabilities)
}

/// Comes before the other sets: emptying this one takes a capability. An ordinary user without a user namespace lacks
/// that capability, and has nothing to lose: with no new privileges, nothing that is executed gains what this set would
/// allow.
fn empty_bounding_set() -> Result<(), Failure> {
    let held = rustix::thread::capabilities(None).at(Step::Capabilities)?;
    if held.permitted.is_empty() && rustix::thread::no_new_privs() == Ok(true) {
        return Ok(());
    }
    for capability in 0..64 {
        // The kernel answers EINVAL past the last one it knows, which ends the list.
        let Ok(present) = sys::in_bounding_set(capability) else { break };
        if present {
            sys::drop_from_bounding_set(capability)
                .at_path(Step::Capabilities, format!("bounding set {capability}"))?;
        }
    }
    Ok(())
}
