//! The system calls a guest may make: a list. Everything else is `ENOSYS`, so that libc's fallbacks work.

use std::collections::BTreeMap;

#[cfg_attr(not(test), expect(clippy::wildcard_imports, reason = "the lists below name some 270 of its constants"))]
use libc::*;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use crate::failure::{Failure, Step};

/// What differs between filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) sockets: Sockets,
    pub(crate) memfd: Memfd,
    pub(crate) files: Files,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// The run has a root of its own: no path leads to a file of the host that it could change.
    Own,
    /// The same, except for folders that its operator lets it change. What it makes there belongs to someone on the
    /// host, so no program in it may lend that owner's rights to whoever starts it.
    Granted,
    /// It has the host's, and Landlock does not mediate modes, owners, times and attributes: a guest could change those
    /// of any of its user's files.
    Hosts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// The run has a network namespace of its own: sockets reach nothing but itself.
    Own,
    /// It has none, and Landlock covers neither UDP nor path-named unix sockets (`docker.sock`): no sockets but
    /// `socketpair`.
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memfd {
    /// A memory cgroup counts its pages.
    Allowed,
    /// Pages of an unmapped memfd are in nobody's resident size, so without a memory cgroup nothing limits them.
    Denied,
}

/// A profile's programs, in the order in which they are installed: if two refuse a call, the later one's answer counts.
#[derive(Debug)]
pub(crate) struct Filter(Vec<BpfProgram>);

/// Compiles the filter. Pure; done once per profile.
pub(crate) fn compile(profile: Profile) -> Result<Filter, Failure> {
    let programs = match profile.files {
        Files::Own | Files::Granted => build(profile).map(|program| vec![program]),
        Files::Hosts => build(profile).and_then(|program| Ok(vec![program, build_unheeded()?])),
    };
    programs.map(Filter).map_err(|error| Failure::new(Step::Seccomp, error.to_string(), EINVAL))
}

/// Installs it for the calling thread, for good.
pub(crate) fn install(filter: &Filter) -> Result<(), Failure> {
    filter.0.iter().try_for_each(|program| {
        seccompiler::apply_filter(program).map_err(|error| {
            let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(EINVAL);
            Failure::new(Step::Seccomp, error.to_string(), errno)
        })
    })
}

/// Calls that change the mode, owner or times of an open file, which a guest may have opened only to read. The kernel
/// reports success and does nothing: `tar`, `touch`, `cp`, and file copies in Node.js and Rust give up when they are
/// refused, and hardly anything depends on the effect.
fn build_unheeded() -> Result<BpfProgram, seccompiler::BackendError> {
    // `utimensat` without a path is `futimens`.
    let without_path = vec![rule([wide_equals(1, 0)?])?];
    let rules = BTreeMap::from([(SYS_fchmod, Vec::new()), (SYS_fchown, Vec::new()), (SYS_utimensat, without_path)]);
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(0), ARCH)?.try_into()
}

/// Takes away from the calling process, in all of its threads, whatever a worker does not need once it has started:
/// what it has open and mapped is all that it will ever have. For a process that hosts WebAssembly guests: no files, no
/// sockets, no programs, no threads, and no memory that could become code. Comes on top of any filter that the process
/// was started with.
pub fn seal_worker() -> Result<(), Failure> {
    let failed = |error: &dyn std::error::Error| Failure::new(Step::Seccomp, error.to_string(), EINVAL);
    rustix::thread::set_no_new_privs(true).map_err(|error| failed(&error))?;
    let program = build_worker().map_err(|error| failed(&error))?;
    seccompiler::apply_filter_all_threads(&program).map_err(|error| failed(&error))
}

fn build_worker() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = WORKER.iter().map(|number| (*number, Vec::new())).collect();
    let executable = constant(PROT_EXEC);
    for call in [SYS_mmap, SYS_mprotect] {
        rules.insert(call, vec![rule([masked(2, executable, 0)?])?]);
    }
    rules.insert(SYS_ioctl, vec![rule([equals(1, PAGEMAP_SCAN)?])?]);
    // Its own threads only: this is how guest code is stopped.
    rules.insert(SYS_tgkill, vec![rule([equals(0, constant(rustix::process::getpid().as_raw_nonzero().get()))?])?]);
    SeccompFilter::new(rules, SeccompAction::Errno(EPERM.unsigned_abs()), SeccompAction::Allow, ARCH)?.try_into()
}

/// `_IOWR('f', 16, struct pm_scan_arg)`: which pages of our own memory were written. Used to reset an instance's
/// memory.
const PAGEMAP_SCAN: u64 = 0xc060_6610;

/// What a worker does once it has started: use the sockets it has, memory, time, waiting, and exit.
#[rustfmt::skip]
const WORKER: &[i64] = &[
    SYS_brk, SYS_clock_getres, SYS_clock_gettime, SYS_clock_nanosleep, SYS_close, SYS_exit, SYS_exit_group, SYS_fstat, SYS_futex,
    SYS_getpid, SYS_getrandom, SYS_gettid, SYS_gettimeofday, SYS_lseek, SYS_madvise, SYS_membarrier, SYS_mremap, SYS_munmap, SYS_nanosleep,
    SYS_pread64, SYS_read, SYS_recvmsg, SYS_restart_syscall, SYS_rseq, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_sched_getaffinity, SYS_sched_yield, SYS_sendmsg, SYS_set_robust_list, SYS_sigaltstack, SYS_write,
];

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;

fn build(profile: Profile) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().chain(LEGACY).map(|number| (*number, Vec::new())).collect();
    if profile.memfd == Memfd::Allowed {
        rules.insert(SYS_memfd_create, Vec::new());
    }
    // New processes and threads are allowed, new namespaces are not. `clone3` hides its flags behind a pointer, so it
    // is not on the list; its ENOSYS makes glibc fall back to `clone`.
    rules.insert(SYS_clone, vec![rule([masked(0, NAMESPACE_FLAGS, 0)?])?]);
    // Terminal input injection and line disciplines.
    rules.insert(SYS_ioctl, vec![rule([differs(1, TIOCSTI)?, differs(1, TIOCLINUX)?, differs(1, TIOCSETD)?])?]);
    // Plain Linux, or a query; never READ_IMPLIES_EXEC or ADDR_NO_RANDOMIZE.
    rules.insert(SYS_personality, vec![rule([equals(0, 0)?])?, rule([equals(0, 0xffff_ffff)?])?]);
    own_processes_only(&mut rules, profile.files)?;
    // No directory watches, which would tell what the host does with files that a run can see, and no leases on them.
    rules.insert(SYS_fcntl, vec![rule([differs(1, F_NOTIFY)?, differs(1, F_SETLEASE)?])?]);
    match profile.files {
        Files::Own => rules.extend(METADATA.iter().map(|number| (*number, Vec::new()))),
        Files::Granted => {
            rules.extend(METADATA.iter().map(|number| (*number, Vec::new())));
            no_set_id_bits(&mut rules)?;
        }
        // Not by descriptor either: that takes no right to write, and files that a guest may read can be its user's.
        Files::Hosts => {}
    }
    rules.insert(SYS_socketpair, vec![rule([equals(0, constant(AF_UNIX))?])?]);
    if profile.sockets == Sockets::Own {
        // Plain TCP and UDP only: other protocols of the same family and type (MPTCP, SCTP, UDP-Lite, ping) are kernel
        // code of their own.
        let internet = |domain: i32, kind: i32, protocol: i32| {
            rule([equals(0, constant(domain))?, masked(1, 0xf, constant(kind))?, equals(2, constant(protocol))?])
        };
        rules.insert(
            SYS_socket,
            vec![
                rule([equals(0, constant(AF_UNIX))?])?,
                internet(AF_INET, SOCK_STREAM, 0)?,
                internet(AF_INET, SOCK_STREAM, IPPROTO_TCP)?,
                internet(AF_INET, SOCK_DGRAM, 0)?,
                internet(AF_INET, SOCK_DGRAM, IPPROTO_UDP)?,
                internet(AF_INET6, SOCK_STREAM, 0)?,
                internet(AF_INET6, SOCK_STREAM, IPPROTO_TCP)?,
                internet(AF_INET6, SOCK_DGRAM, 0)?,
                internet(AF_INET6, SOCK_DGRAM, IPPROTO_UDP)?,
                // `getifaddrs`.
                rule([equals(0, constant(AF_NETLINK))?, equals(2, constant(NETLINK_ROUTE))?])?,
            ],
        );
    }
    // A foreign architecture (int 0x80 on x86-64) kills the process; seccompiler puts that check first. x32 numbers are
    // not on the list.
    SeccompFilter::new(rules, SeccompAction::Errno(ENOSYS.unsigned_abs()), SeccompAction::Allow, ARCH)?.try_into()
}

/// Calls that change limits or scheduling of any process of the same user. They must not reach the run's own
/// supervisor, which a guest could starve or get killed; without a pid namespace, they must not reach anything but the
/// caller.
fn own_processes_only(
    rules: &mut BTreeMap<i64, Vec<SeccompRule>>,
    files: Files,
) -> Result<(), seccompiler::BackendError> {
    let allowed = |argument: u8| match files {
        // The supervisor is pid 1. The guest's own threads have other numbers, and runtimes address them by number.
        Files::Own | Files::Granted => differs(argument, 1),
        Files::Hosts => equals(argument, 0),
    };
    // RLIMIT_CORE is 1, which keeps the kernel from piping a core dump to the host's handler. 0 would not, so a guest
    // may not set it.
    let core = u64::from(RLIMIT_CORE);
    rules.insert(SYS_setrlimit, vec![rule([differs(0, core)?])?]);
    let reads_only = wide_equals(2, 0)?;
    rules.insert(SYS_prlimit64, vec![rule([allowed(0)?, differs(1, core)?])?, rule([allowed(0)?, reads_only])?]);
    for call in [SYS_sched_setaffinity, SYS_sched_setattr, SYS_sched_setparam, SYS_sched_setscheduler] {
        rules.insert(call, vec![rule([allowed(0)?])?]);
    }
    // Processes and process groups only; "user" would be every process of that user.
    let of = |which: u64| rule([equals(0, which)?, allowed(1)?]);
    rules.insert(SYS_setpriority, vec![of(u64::from(PRIO_PROCESS))?, of(u64::from(PRIO_PGRP))?]);
    Ok(())
}

/// Keeps set-user-id and set-group-id bits out of every call that sets a file's mode. `openat2` has the mode behind a
/// pointer, so it comes off the list, and libraries fall back to `openat`.
fn no_set_id_bits(rules: &mut BTreeMap<i64, Vec<SeccompRule>>) -> Result<(), seccompiler::BackendError> {
    const SET_ID: u64 = 0o6000;
    // `__O_TMPFILE`, without the `O_DIRECTORY` that comes with it.
    const MAKES_A_FILE: u64 = 0o100 | 0o20_000_000;
    rules.remove(&SYS_openat2);
    for (call, mode) in MODES {
        rules.insert(*call, vec![rule([masked(*mode, SET_ID, 0)?])?]);
    }
    // If no file is made, the mode is not an argument and may be anything.
    for (call, flags) in OPENS {
        let makes_none = rule([masked(*flags, MAKES_A_FILE, 0)?])?;
        rules.insert(*call, vec![makes_none, rule([masked(*flags + 1, SET_ID, 0)?])?]);
    }
    Ok(())
}

/// Calls that take a mode, and which argument it is.
#[cfg(target_arch = "x86_64")]
const MODES: &[(i64, u8)] =
    &[(SYS_chmod, 1), (SYS_creat, 1), (SYS_fchmod, 1), (SYS_fchmodat, 2), (SYS_mknod, 1), (SYS_mknodat, 2)];
#[cfg(not(target_arch = "x86_64"))]
const MODES: &[(i64, u8)] = &[(SYS_fchmod, 1), (SYS_fchmodat, 2), (SYS_mknodat, 2)];

/// Calls that open or create a file, and which argument holds the flags. The mode is the next one.
#[cfg(target_arch = "x86_64")]
const OPENS: &[(i64, u8)] = &[(SYS_open, 1), (SYS_openat, 2)];
#[cfg(not(target_arch = "x86_64"))]
const OPENS: &[(i64, u8)] = &[(SYS_openat, 2)];

const F_NOTIFY: u64 = 1026;
const F_SETLEASE: u64 = 1024;

/// Every `CLONE_NEW*` flag, `CLONE_NEWTIME` (0x80) included.
const NAMESPACE_FLAGS: u64 = 0x7e02_0080;
const TIOCLINUX: u64 = 0x541c;

/// libc's constants are signed, and these are not negative.
fn constant(value: i32) -> u64 {
    u64::from(value.unsigned_abs())
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.into())
}

// The kernel uses only the low 32 bits of these arguments, and a guest chooses the high ones.
fn equals(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

/// For pointers, where every bit counts.
fn wide_equals(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, value)
}

fn differs(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask), value)
}

/// Allowed whatever the arguments: what twelve runtimes used under strace, and close relatives of that. Notable
/// absences: System V IPC (its segments outlive their processes and count in nobody's resident size), `clone3`,
/// `ptrace` and `process_vm_*`, everything about mounts, namespaces, keys, modules and time, `io_uring`, `bpf`,
/// `userfaultfd`, `perf_event_open`, file handles, `inotify` (bound files share the host's inodes, so it would tell
/// what the host opens), `sync` (of the host's disks).
#[rustfmt::skip]
const ALLOWED: &[i64] = &[
    SYS_accept, SYS_accept4, SYS_bind, SYS_brk, SYS_capget, SYS_chdir, SYS_clock_getres,
    SYS_clock_gettime, SYS_clock_nanosleep, SYS_close, SYS_close_range, SYS_connect, SYS_copy_file_range, SYS_dup,
    SYS_dup3, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_eventfd2, SYS_execve,
    SYS_execveat, SYS_exit, SYS_exit_group, SYS_faccessat, SYS_faccessat2, SYS_fadvise64, SYS_fallocate, SYS_fchdir,
    SYS_fdatasync, SYS_fgetxattr, SYS_flistxattr, SYS_flock, SYS_fstat, SYS_fstatfs, SYS_fsync, SYS_ftruncate,
    SYS_futex, SYS_futex_waitv, SYS_get_robust_list, SYS_getcpu,
    SYS_getcwd, SYS_getdents64, SYS_getegid, SYS_geteuid, SYS_getgid, SYS_getgroups, SYS_getitimer, SYS_getpeername,
    SYS_getpgid, SYS_getpid, SYS_getppid, SYS_getpriority, SYS_getrandom, SYS_getresgid, SYS_getresuid, SYS_getrlimit,
    SYS_getrusage, SYS_getsid, SYS_getsockname, SYS_getsockopt, SYS_gettid, SYS_gettimeofday, SYS_getuid,
    SYS_getxattr, SYS_kill, SYS_landlock_add_rule,
    SYS_landlock_create_ruleset, SYS_landlock_restrict_self, SYS_lgetxattr, SYS_linkat, SYS_listen, SYS_listxattr,
    SYS_llistxattr, SYS_lseek, SYS_madvise, SYS_membarrier,
    SYS_mincore, SYS_mkdirat, SYS_mknodat, SYS_mlock, SYS_mlock2, SYS_mmap, SYS_mprotect,
    SYS_mremap, SYS_mseal,
    SYS_msync, SYS_munlock, SYS_munmap, SYS_nanosleep, SYS_newfstatat, SYS_openat, SYS_openat2, SYS_pidfd_open,
    SYS_pidfd_send_signal, SYS_pipe2, SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect, SYS_ppoll, SYS_prctl,
    SYS_pread64, SYS_preadv, SYS_preadv2, SYS_pselect6, SYS_pwrite64, SYS_pwritev, SYS_pwritev2,
    SYS_read, SYS_readahead, SYS_readlinkat, SYS_readv, SYS_recvfrom, SYS_recvmmsg, SYS_recvmsg, SYS_remap_file_pages,
    SYS_renameat, SYS_renameat2, SYS_restart_syscall, SYS_rseq, SYS_rt_sigaction, SYS_rt_sigpending,
    SYS_rt_sigprocmask, SYS_rt_sigqueueinfo, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
    SYS_rt_tgsigqueueinfo, SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_sched_getaffinity,
    SYS_sched_getattr, SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_rr_get_interval,
    SYS_sched_yield, SYS_seccomp, SYS_sendfile,
    SYS_sendmmsg, SYS_sendmsg, SYS_sendto, SYS_set_robust_list, SYS_set_tid_address, SYS_setfsgid, SYS_setfsuid,
    SYS_setitimer, SYS_setpgid, SYS_setsid, SYS_setsockopt,
    SYS_shutdown, SYS_sigaltstack, SYS_signalfd4, SYS_splice, SYS_statfs, SYS_statx, SYS_symlinkat,
    SYS_sync_file_range, SYS_sysinfo, SYS_tee, SYS_tgkill, SYS_timer_create, SYS_timer_delete,
    SYS_timer_getoverrun, SYS_timer_gettime, SYS_timer_settime, SYS_timerfd_create, SYS_timerfd_gettime,
    SYS_timerfd_settime, SYS_times, SYS_tkill, SYS_truncate, SYS_umask, SYS_uname, SYS_unlinkat,
    SYS_wait4, SYS_waitid, SYS_write, SYS_writev,
];

/// Changes to a file other than to its contents.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const METADATA: &[i64] = &[
    SYS_chmod, SYS_chown, SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_fremovexattr, SYS_fsetxattr, SYS_futimesat, SYS_lchown,
    SYS_lremovexattr, SYS_lsetxattr, SYS_removexattr, SYS_setxattr, SYS_utime, SYS_utimensat, SYS_utimes,
];
#[cfg(not(target_arch = "x86_64"))]
#[rustfmt::skip]
const METADATA: &[i64] = &[
    SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_fremovexattr, SYS_fsetxattr, SYS_lremovexattr, SYS_lsetxattr, SYS_removexattr,
    SYS_setxattr, SYS_utimensat,
];

/// Calls that newer architectures never had.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const LEGACY: &[i64] = &[
    SYS_access, SYS_alarm, SYS_arch_prctl, SYS_creat, SYS_dup2, SYS_epoll_create,
    SYS_epoll_wait, SYS_eventfd, SYS_fork, SYS_getdents, SYS_getpgrp,
    SYS_link, SYS_lstat, SYS_mkdir, SYS_mknod, SYS_open, SYS_pause, SYS_pipe, SYS_poll, SYS_readlink, SYS_rename,
    SYS_rmdir, SYS_select, SYS_signalfd, SYS_stat, SYS_symlink, SYS_time, SYS_unlink,
    SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY: &[i64] = &[];

#[cfg(test)]
mod tests {
    use std::fs::{self, File, FileTimes, Permissions};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::time::SystemTime;

    use super::*;

    /// What a guest without a root of its own may read can include its user's own tools.
    #[test]
    fn a_file_that_is_open_keeps_its_mode_and_times_where_it_may_be_the_hosts() {
        let profile = |files| Profile { sockets: Sockets::None, memfd: Memfd::Denied, files };
        for (files, stays) in [(Files::Own, false), (Files::Hosts, true)] {
            let folder = tempfile::tempdir().expect("a temporary directory");
            let path = folder.path().join("tool");
            fs::write(&path, "").expect("written");
            fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("set");
            let state = || fs::metadata(&path).map(|found| (found.mode(), found.mtime(), found.ctime_nsec())).ok();
            let before = state();
            let filter = compile(profile(files)).expect("a filter");
            // Each thread has its own.
            std::thread::scope(|scope| {
                let guest = scope.spawn(|| {
                    let file = File::open(&path).expect("it may be read");
                    rustix::thread::set_no_new_privs(true).expect("set");
                    install(&filter).expect("installed");
                    file.set_permissions(Permissions::from_mode(0o700)).expect("said to be done");
                    file.set_times(FileTimes::new().set_modified(SystemTime::UNIX_EPOCH)).expect("said to be done");
                    rustix::fs::fchown(&file, None, None).expect("said to be done");
                    rustix::fs::fsetxattr(&file, "user.a", b"b", rustix::fs::XattrFlags::empty())
                });
                let attribute = guest.join().expect("it ends");
                assert!(!stays || attribute == Err(rustix::io::Errno::NOSYS), "{attribute:?}");
            });
            assert_eq!(state() == before, stays, "{files:?}: {before:?}, {:?}", state());
        }
    }
}
