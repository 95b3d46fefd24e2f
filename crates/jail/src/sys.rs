//! The system calls that no safe wrapper covers. All of the crate's `unsafe` is here.
#![expect(unsafe_code, reason = "clone, clone3, wait4, mount_setattr and execve have no safe wrapper")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr;

/// Which side of a clone we are on.
#[derive(Debug)]
pub(crate) enum Cloned {
    Child,
    Parent { pid: i32, pidfd: OwnedFd },
}

/// `fork`, with namespaces, a pidfd, and optionally straight into a (version 2) cgroup.
///
/// Must be called from a process with a single thread: the child goes on with a copy of this one's memory, and a lock that another
/// thread held (malloc's) would stay locked in it forever. Only the launcher and its children call this; the launcher checks.
pub(crate) fn clone(namespaces: u64, cgroup: Option<BorrowedFd<'_>>) -> io::Result<Cloned> {
    let mut pidfd: libc::c_int = -1;
    let mut arguments = libc::clone_args {
        flags: namespaces | libc::CLONE_PIDFD as u64,
        pidfd: ptr::from_mut(&mut pidfd) as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: 0,
    };
    if let Some(cgroup) = cgroup {
        // libc's constant is an i32, and this value overflows that.
        const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = u64::from(cgroup.as_raw_fd().unsigned_abs());
    }
    // SAFETY: `arguments` is a valid clone_args of the size passed, alive for the call. Without CLONE_VM and a stack the child runs on a
    // copy of this stack, as after `fork`; the process has one thread (this function's contract), so its memory is consistent.
    let mut pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    // Docker's filter cannot look into the arguments of clone3, so it pretends that there is no such call. The older
    // call knows no cgroups.
    if pid == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) && cgroup.is_none() {
        let flags = arguments.flags | arguments.exit_signal;
        // SAFETY: as above: no stack, no CLONE_VM, one thread. With CLONE_PIDFD the third argument is where the descriptor goes, which lives
        // for the call.
        pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, &raw mut pidfd, 0_usize, 0_usize) };
    }
    match i32::try_from(pid).unwrap_or(-1) {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Cloned::Child),
        pid => {
            // SAFETY: the kernel stored a new descriptor in `pidfd`, which nothing else owns.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Cloned::Parent { pid, pidfd })
        }
    }
}

/// What a finished child used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rusage {
    pub(crate) cpu_micros: u64,
    pub(crate) peak_bytes: u64,
}

impl From<libc::rusage> for Rusage {
    fn from(usage: libc::rusage) -> Self {
        let micros = |time: libc::timeval| time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs();
        Self {
            cpu_micros: micros(usage.ru_utime) + micros(usage.ru_stime),
            peak_bytes: usage.ru_maxrss.unsigned_abs() * 1024,
        }
    }
}

/// A child that has ended: its pid, its wait status and what it used. `None` if children are alive and none has ended.
pub(crate) fn reap_any() -> io::Result<Option<(i32, i32, Rusage)>> {
    wait(-1, libc::WNOHANG)
}

/// Waits for one child.
pub(crate) fn reap(pid: i32) -> io::Result<(i32, Rusage)> {
    match wait(pid, 0)? {
        Some((_, status, usage)) => Ok((status, usage)),
        None => Err(io::ErrorKind::WouldBlock.into()),
    }
}

fn wait(pid: i32, options: libc::c_int) -> io::Result<Option<(i32, i32, Rusage)>> {
    let mut status = 0;
    // SAFETY: rusage is plain integers, for which all-zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live, writable values of the right types.
        let ended = unsafe { libc::wait4(pid, &raw mut status, options, &raw mut usage) };
        match ended {
            -1 => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
            0 => return Ok(None),
            ended => return Ok(Some((ended, status, usage.into()))),
        }
    }
}

/// Waits until there is no child left.
pub(crate) fn reap_all() {
    while let Ok(Some((pid, status, _))) = wait(-1, 0) {
        // A child whose exit is watched stops there, whoever ends it.
        if stop(status).is_some() {
            resume(pid, Resumed::Running { signal: 0 });
        }
    }
}

/// Why a child that [`watch_exit`] watches has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It is about to exit, and runs no more of its own code. Its memory is still there.
    Exit,
    /// Someone stopped its process.
    Job,
    /// A signal is about to be delivered; 0 for none.
    Signal(i32),
}

/// How a stopped child goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resumed {
    Running {
        /// The signal that it gets, 0 for none.
        signal: i32,
    },
    /// Stopped, as intended by whoever stopped its process, until that is continued.
    Stopped,
}

/// Makes a child stop when it is about to exit. It also stops at every signal.
pub(crate) fn watch_exit(pid: i32) -> io::Result<()> {
    let options = ptr::without_provenance_mut::<libc::c_void>(libc::PTRACE_O_TRACEEXIT as usize);
    // SAFETY: PTRACE_SEIZE takes a number as its data, and no address.
    let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, ptr::null_mut::<libc::c_void>(), options) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What a wait status says about a stop, if it is one.
pub(crate) fn stop(status: i32) -> Option<Stop> {
    const JOB_SIGNALS: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    let signal = libc::WIFSTOPPED(status).then(|| libc::WSTOPSIG(status))?;
    Some(match status >> 16 {
        libc::PTRACE_EVENT_EXIT => Stop::Exit,
        libc::PTRACE_EVENT_STOP if JOB_SIGNALS.contains(&signal) => Stop::Job,
        libc::PTRACE_EVENT_STOP => Stop::Signal(0),
        _ => Stop::Signal(signal),
    })
}

/// Lets a stopped child go on. If it is gone by now, nothing happens.
pub(crate) fn resume(pid: i32, how: Resumed) {
    let (request, signal) = match how {
        Resumed::Running { signal } => (libc::PTRACE_CONT, signal),
        Resumed::Stopped => (libc::PTRACE_LISTEN, 0),
    };
    let signal = ptr::without_provenance_mut::<libc::c_void>(signal.unsigned_abs() as usize);
    // SAFETY: both requests take a number as their data, and no address.
    unsafe { libc::ptrace(request, pid, ptr::null_mut::<libc::c_void>(), signal) };
}

/// The wait status that a child will have; it is about to exit ([`Stop::Exit`]).
pub(crate) fn coming_status(pid: i32) -> io::Result<i32> {
    let mut status: libc::c_ulong = 0;
    // SAFETY: PTRACE_GETEVENTMSG writes one unsigned long to its data, which is a live and writable one.
    let result =
        unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, pid, ptr::null_mut::<libc::c_void>(), &raw mut status) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    i32::try_from(status).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The CPU time of a child and all its threads, including those that have ended.
pub(crate) fn cpu_micros_of(pid: i32) -> io::Result<u64> {
    let mut clock = 0;
    // SAFETY: the pointer is to a live, writable clockid_t.
    let error = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live, writable timespec.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_nsec.unsigned_abs() / 1000)
}

/// What all reaped children of this process used together.
pub(crate) fn children_usage() -> Rusage {
    // SAFETY: rusage is plain integers, for which all-zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live, writable rusage. The call cannot fail with RUSAGE_CHILDREN and a valid pointer.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    usage.into()
}

const MOUNT_ATTR_RDONLY: u64 = libc::MOUNT_ATTR_RDONLY;

/// How a mount is restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MountAccess {
    /// Nothing can be written, no device opened, no set-user-id bit honoured.
    ReadOnly,
    /// A device node: writable, no set-user-id bit honoured.
    Device,
    /// Everything but devices and set-user-id bits.
    Writable,
}

impl MountAccess {
    fn attributes(self) -> u64 {
        match self {
            Self::ReadOnly => MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
            Self::Device => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC,
            Self::Writable => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        }
    }
}

/// Restricts a detached mount and all mounts below it.
pub(crate) fn restrict_tree(mount: BorrowedFd<'_>, access: MountAccess) -> io::Result<()> {
    set_mount_attributes(mount, c"", WHOLE_TREE, libc::mount_attr { attr_set: access.attributes(), ..NOTHING })
}

/// Takes a detached mount and all mounts below it out of their peer groups: a mount made on one side does not appear on
/// the other.
pub(crate) fn make_tree_private(mount: BorrowedFd<'_>) -> io::Result<()> {
    set_mount_attributes(mount, c"", WHOLE_TREE, libc::mount_attr { propagation: libc::MS_PRIVATE, ..NOTHING })
}

/// In a detached mount and all below it, maps owners through the user namespace `users`: what belongs to an id inside
/// of it belongs to whichever id that is outside.
pub(crate) fn map_tree(tree: BorrowedFd<'_>, users: BorrowedFd<'_>) -> io::Result<()> {
    let userns_fd = u64::from(users.as_raw_fd().unsigned_abs());
    let attributes = libc::mount_attr { attr_set: libc::MOUNT_ATTR_IDMAP, userns_fd, ..NOTHING };
    set_mount_attributes(tree, c"", WHOLE_TREE, attributes)
}

/// Makes one mount read-only.
pub(crate) fn make_read_only(path: &CStr) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: MOUNT_ATTR_RDONLY, ..NOTHING };
    set_mount_attributes(rustix::fs::CWD, path, 0, attributes)
}

const WHOLE_TREE: u32 = (libc::AT_EMPTY_PATH | libc::AT_RECURSIVE) as u32;
/// Changes nothing.
const NOTHING: libc::mount_attr = libc::mount_attr { attr_set: 0, attr_clr: 0, propagation: 0, userns_fd: 0 };

fn set_mount_attributes(
    directory: BorrowedFd<'_>,
    path: &CStr,
    flags: u32,
    attributes: libc::mount_attr,
) -> io::Result<()> {
    // SAFETY: `path` is NUL-terminated and `attributes` a valid mount_attr of the size passed; both outlive the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            directory.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's Landlock version, 0 where it has none.
pub(crate) fn landlock_version() -> u32 {
    const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
    // SAFETY: with this flag the kernel takes a null pointer and size 0, and only returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::null::<libc::c_void>(),
            0usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// A call that the seccomp filter denies and that changes nothing: asks for the id of this process's session keyring.
pub(crate) fn denied_call() -> io::Result<()> {
    const KEYCTL_GET_KEYRING_ID: libc::c_long = 0;
    const KEY_SPEC_SESSION_KEYRING: libc::c_long = -3;
    // SAFETY: keyctl with these arguments takes no pointers; with `create` 0 it makes no key.
    let result = unsafe { libc::syscall(libc::SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0) };
    if result >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Replaces this process. Returns only if that failed.
pub(crate) fn execute(program: &CStr, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
        strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both arrays end in a null pointer, and every other element points into a CString borrowed for the call.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// A descriptor that becomes readable when a child ends. Blocks delivery of the signal.
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: a sigset_t is plain integers; sigemptyset makes it a valid empty set before any other use.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a live, writable sigset_t.
    unsafe { libc::sigemptyset(&raw mut set) };
    // SAFETY: `set` is initialised and SIGCHLD a valid signal.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGCHLD) };
    // SAFETY: `set` is initialised; a null old set is allowed.
    if unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `set` is initialised; -1 asks for a new descriptor.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just returned this descriptor, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Blocks no signal and resets every one to its default: what an executed program expects to inherit.
pub(crate) fn reset_signals() -> io::Result<()> {
    // Handlers go with the exec; ignored signals (SIGPIPE by Rust, any by whoever started the server) would stay
    // ignored.
    for signal in 1..32 {
        // SAFETY: SIG_DFL is no function to be called. KILL and STOP answer EINVAL, which changes nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: a sigset_t is plain integers; sigemptyset makes it a valid empty set.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a live, writable sigset_t.
    unsafe { libc::sigemptyset(&raw mut set) };
    // SAFETY: `set` is initialised; a null old set is allowed.
    if unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Sets real, effective and saved user and group id, and clears supplementary groups where that is allowed. For a process with one
/// thread: the raw calls change the calling thread only.
pub(crate) fn assume_identity(user: u32, group: u32, groups: Groups) -> io::Result<()> {
    // SAFETY: no groups are passed, so the null pointer is not read.
    if groups == Groups::Clear && unsafe { libc::syscall(libc::SYS_setgroups, 0, ptr::null::<libc::gid_t>()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: setresgid takes integers only.
    if unsafe { libc::syscall(libc::SYS_setresgid, group, group, group) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: setresuid takes integers only.
    if unsafe { libc::syscall(libc::SYS_setresuid, user, user, user) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// What to do about supplementary groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Groups {
    /// Drop them all.
    Clear,
    /// An ordinary user's user namespace may not drop them; they are not mapped there and grant nothing.
    Keep,
}

/// Brings this network namespace's loopback interface up.
pub(crate) fn loopback_up() -> io::Result<()> {
    // IFF_UP and IFF_RUNNING, which libc has as int and the kernel reads as short.
    const UP_AND_RUNNING: libc::c_short = 0x1 | 0x40;
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: ifreq is plain integers and a union of them, for which all-zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *slot = libc::c_char::from_ne_bytes([*byte]);
    }
    request.ifr_ifru.ifru_flags = UP_AND_RUNNING;
    // SAFETY: SIOCSIFFLAGS reads one ifreq; `request` is one, with a NUL-terminated name.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Ends this process without running destructors or exit handlers, which belong to the process it was cloned from.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit does not return and touches no memory of ours.
    unsafe { libc::_exit(code) }
}

/// Whether a capability is in the bounding set; an error past the last one that the kernel knows.
pub(crate) fn in_bounding_set(capability: u32) -> io::Result<bool> {
    // SAFETY: PR_CAPBSET_READ takes integers only.
    match unsafe { libc::prctl(libc::PR_CAPBSET_READ, libc::c_ulong::from(capability), 0, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        present => Ok(present == 1),
    }
}

/// Takes a capability out of the bounding set.
pub(crate) fn drop_from_bounding_set(capability: u32) -> io::Result<()> {
    // SAFETY: PR_CAPBSET_DROP takes integers only.
    match unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability), 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Marks every descriptor from `first` on to be closed by the next exec.
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: close_range takes integers only; with this flag it closes nothing now, so no owner is surprised.
    match unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Closes every descriptor above 2 but these.
///
/// For a process just cloned from the launcher, which never returns to the launcher's code: the owners of the closed
/// descriptors are copies in its memory that are never used or dropped.
pub(crate) fn close_all_but(kept: &[std::os::fd::RawFd]) -> io::Result<()> {
    let mut kept: Vec<u32> = kept.iter().filter_map(|fd| u32::try_from(*fd).ok()).collect();
    kept.sort_unstable();
    let mut first = 3;
    for last in kept.into_iter().chain([u32::MAX]) {
        if last > first {
            // SAFETY: close_range takes integers only. Which descriptors are closed is this function's contract.
            if unsafe { libc::syscall(libc::SYS_close_range, first, last - 1, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        first = last.saturating_add(1);
    }
    Ok(())
}

/// Makes this process's heap give every large block back to the kernel as soon as it is freed.
///
/// glibc does so only until the first large block is freed: from then on it takes blocks of that size to be common, and
/// keeps them in heaps among small ones. Runs' outputs and files are of all sizes up to megabytes, and the holes
/// between them would make a server grow for hours.
pub fn give_large_blocks_back() {
    #[cfg(target_env = "gnu")]
    {
        const LARGE: libc::c_int = 128 << 10;
        // SAFETY: two numbers. One that it does not know is refused, and nothing changes.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}

/// Sends a signal to every process that this one may signal, except itself: for the first process of a pid namespace,
/// and for one that has taken on a user id that nothing else has.
pub(crate) fn signal_everybody_else(signal: libc::c_int) {
    // SAFETY: kill takes integers only.
    unsafe { libc::kill(-1, signal) };
}

/// Makes a copy of a descriptor under this number, which stays open past an exec.
///
/// For a process just cloned, which is about to execute another program: whatever had that number before is closed, and
/// its owner is a copy in memory that is never used or dropped.
pub(crate) fn place_at(descriptor: &OwnedFd, number: std::os::fd::RawFd) -> io::Result<()> {
    if descriptor.as_raw_fd() == number {
        return Ok(rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::empty())?);
    }
    // SAFETY: dup2 takes integers only. What is closed by it is this function's contract.
    match unsafe { libc::dup2(descriptor.as_raw_fd(), number) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
