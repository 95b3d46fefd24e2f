//! Probe programs: many small attempts, each judged by a line of its own.
//!
//! The table says for every probe what must stop it at each level, and where it succeeds on the bare host.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;

use crate::verdict::Verdict;
use crate::{KERNEL as KERNEL_PROGRAM, Level, Program};

/// One probe, and what is expected of it.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// As the program reports it.
    pub name: &'static str,
    /// What it tries, in words.
    pub tries: &'static str,
    /// What kind of thing it tries: which layer an answer comes from.
    pub door: Door,
    /// Where it must succeed, to show that it would be seen.
    pub control: Control,
    /// What stops it in a full jail: one of these, separated by `|`.
    pub full: &'static str,
    /// What stops it in a jail without /proc.
    pub no_proc: &'static str,
    /// What stops it without namespaces.
    pub landlock: &'static str,
}

/// What a probe tries to go through. The same errno comes from different layers at different doors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// A system call.
    Call,
    /// A path that a run's own root does not have.
    HostPath,
    /// A path that it has, and that cannot be changed or read.
    ShownPath,
    /// The run's own supervisor.
    Init,
    /// Another process.
    Process,
    /// Something with a name of its own kind, outside of every file system.
    Ipc,
    /// A socket of the host's.
    Socket,
    /// The way out that a granted network is.
    Proxy,
    /// The namespace itself.
    Namespace,
    /// What takes a privilege.
    Privilege,
    /// A resource limit.
    Limit,
    /// How file systems are mounted.
    Mount,
    /// What a process inherits.
    Start,
    /// The caller's terminal.
    Terminal,
}

/// Where on the bare host a probe succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// For any user.
    User,
    /// For root.
    Root,
    /// Depends on the kernel's configuration, or is not tried outside: only its being reported is checked.
    Varies,
}

/// A probe that a level does not stop, and the layer that its results must name as missing for that.
#[rustfmt::skip]
pub static GAPS: &[(Level, &str, &str)] = &[
    (Level::Landlock, "see-victim", "pid-namespace"),
    (Level::Landlock, "set-user-id-honoured", "mount-namespace"),
    // Emptying it takes a capability that an ordinary user has only in a user namespace. no_new_privs makes it moot.
    (Level::Landlock, "bounding-set", "user-namespace"),
    (Level::Landlock, "namespace-cgroup", "cgroup-namespace"),
    (Level::Landlock, "namespace-ipc", "ipc-namespace"),
    (Level::Landlock, "namespace-mnt", "mount-namespace"),
    (Level::Landlock, "namespace-net", "network-namespace"),
    (Level::Landlock, "namespace-pid", "pid-namespace"),
    (Level::Landlock, "namespace-user", "user-namespace"),
    (Level::Landlock, "namespace-uts", "uts-namespace"),
];

/// Places that only some hosts have, by the probe that tries them. Where a host has none of them, nothing was there to be kept from.
#[rustfmt::skip]
static PLACES: &[(&str, &[&str])] = &[
    ("read-shadow", &["/etc/shadow"]),
    ("read-kernel-memory-map", &["/proc/kcore"]),
    ("list-root-home", &["/root"]),
    ("list-var-lib", &["/var/lib"]),
    ("list-sys", &["/sys"]),
    ("list-run", &["/run"]),
    ("write-sysrq", &["/proc/sysrq-trigger"]),
    ("write-module-loader", &["/proc/sys/kernel/modprobe"]),
    ("write-release-agent", &["/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/pids/release_agent", "/sys/fs/cgroup/systemd/release_agent"]),
    ("open-physical-memory", &["/dev/mem"]),
    ("open-kernel-messages", &["/dev/kmsg"]),
    ("open-virtual-machines", &["/dev/kvm"]),
    ("open-tunnel", &["/dev/net/tun"]),
    ("open-user-file-systems", &["/dev/fuse"]),
    ("container-engine", &["/var/run/docker.sock"]),
    ("system-bus", &["/run/dbus/system_bus_socket"]),
];

use Control::{Root, User, Varies};
use Door::{
    Call, HostPath, Init, Ipc, Limit, Mount, Namespace, Privilege, Process, Proxy, ShownPath, Socket, Start, Terminal,
};

const fn probe(
    name: &'static str,
    tries: &'static str,
    door: Door,
    control: Control,
    walls: [&'static str; 3],
) -> Probe {
    let [full, no_proc, landlock] = walls;
    Probe { name, tries, door, control, full, no_proc, landlock }
}

/// The host's files.
#[rustfmt::skip]
pub static FILES: &[Probe] = &[
    probe("read-shadow", "read /etc/shadow", HostPath, Root, ["ENOENT", "ENOENT", "EACCES"]),
    probe("read-shadow-through-init-root", "read /etc/shadow through the root of pid 1", Init, Root, ["EACCES", "ENOENT", "EACCES"]),
    probe("read-host-secret", "read a file of the host's", HostPath, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("read-host-secret-by-dot-dot", "read it by climbing with ..", HostPath, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("read-host-secret-through-own-root", "read it through /proc/self/root", HostPath, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("read-host-secret-through-init-root", "read it through the root of pid 1", Init, User, ["EACCES", "ENOENT", "EACCES"]),
    probe("read-kernel-memory-map", "read the kernel's memory in /proc/kcore", ShownPath, Varies, ["EACCES|ENOENT", "ENOENT", "EACCES|ENOENT"]),
    probe("list-root-home", "list /root", HostPath, Root, ["ENOENT|nothing there", "ENOENT|nothing there", "EACCES"]),
    probe("list-var-lib", "list /var/lib", HostPath, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("list-sys", "list /sys", HostPath, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("list-run", "list /run", HostPath, User, ["ENOENT|nothing there", "ENOENT|nothing there", "EACCES"]),
    probe("list-host-directory", "list a folder of the host's", HostPath, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("write-host-canary", "open a file of the host's for writing", HostPath, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("write-etc-passwd", "open /etc/passwd for writing", ShownPath, Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("write-linker-cache", "open the linker's cache for writing", ShownPath, Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("write-usr-file", "open a file in /usr for writing", ShownPath, Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("write-core-pattern", "open core_pattern for writing", ShownPath, Root, ["EACCES|EROFS", "ENOENT", "EACCES"]),
    probe("write-sysrq", "open sysrq-trigger for writing", ShownPath, Varies, ["EACCES|ENOENT", "ENOENT", "EACCES|ENOENT"]),
    probe("write-module-loader", "open the path of modprobe for writing", ShownPath, Varies, ["EACCES|ENOENT|EROFS", "ENOENT", "EACCES|ENOENT"]),
    probe("write-release-agent", "open a cgroup's release_agent for writing", HostPath, Varies, ["ENOENT", "ENOENT", "EACCES|ENOENT"]),
    probe("open-physical-memory", "open /dev/mem", HostPath, Varies, ["ENOENT", "ENOENT", "EACCES|ENOENT"]),
    probe("open-kernel-messages", "open /dev/kmsg", HostPath, Varies, ["ENOENT", "ENOENT", "EACCES|ENOENT"]),
    probe("open-virtual-machines", "open /dev/kvm", HostPath, Varies, ["ENOENT", "ENOENT", "EACCES|ENOENT"]),
    probe("open-tunnel", "open /dev/net/tun", HostPath, Varies, ["ENOENT", "ENOENT", "EACCES|ENOENT"]),
    probe("open-user-file-systems", "open /dev/fuse", HostPath, Varies, ["ENOENT", "ENOENT", "EACCES|ENOENT"]),
    probe("create-in-host-directory", "make a file in a folder of the host's", HostPath, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("create-in-root", "make a file in /", ShownPath, Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("create-in-etc", "make a file in /etc", ShownPath, Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("create-in-usr", "make a file in /usr", ShownPath, Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("create-in-usr-bin", "make a file in /usr/bin", ShownPath, Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("create-in-dev", "make a file in /dev", ShownPath, Root, ["EACCES|EROFS", "EACCES|EROFS", "EACCES"]),
    probe("list-root-directory", "find more in / than a run's own", HostPath, User, ["nothing there", "nothing there", "EACCES"]),
    probe("list-devices", "find devices in /dev", HostPath, User, ["nothing there", "nothing there", "EACCES"]),
    probe("read-host-passwd", "read the host's own /etc/passwd", HostPath, User, ["synthetic", "synthetic", "EACCES"]),
    probe("follow-own-symlink-to-host-secret", "follow a link of its own to a file of the host's", HostPath, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("hard-link-host-canary", "link a file of the host's into the workspace", HostPath, User, ["ENOENT", "ENOENT", "EACCES|EXDEV"]),
    probe("change-mode-of-open-file", "change the mode of a file in /usr that is open", ShownPath, Root, ["EROFS", "EROFS", "nothing done"]),
    probe("open-by-handle", "open a file by its handle", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("make-block-device", "make a block device", Privilege, Root, ["EACCES|EPERM", "EACCES|EPERM", "EACCES|EPERM"]),
    probe("set-user-id-honoured", "start set-user-id programs with their owner's rights", Mount, User, ["nosuid", "nosuid", "gap"]),
];

/// Other processes, and what a process inherits.
#[rustfmt::skip]
pub static PROCESSES: &[Probe] = &[
    probe("environment-of-init", "read the environment of pid 1", Init, User, ["EACCES", "ENOENT", "EACCES"]),
    probe("memory-of-init", "read the memory of pid 1 in /proc", Init, User, ["EACCES", "ENOENT", "EACCES"]),
    probe("files-of-init", "list what pid 1 has open", Init, User, ["EACCES", "ENOENT", "EACCES"]),
    probe("trace-init", "trace pid 1 with ptrace", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("read-memory-of-init", "read the memory of pid 1 with process_vm_readv", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("write-memory-of-init", "write to the memory of pid 1 with process_vm_writev", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("take-descriptor-of-init", "take a descriptor of pid 1 with pidfd_getfd", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("signal-init", "signal pid 1", Init, User, ["EPERM", "EPERM", "EPERM"]),
    probe("signal-init-by-pidfd", "signal pid 1 by a pidfd", Init, User, ["EPERM", "EPERM", "EPERM"]),
    probe("limit-init", "change the limits of pid 1", Init, User, ["ENOSYS|EPERM", "ENOSYS|EPERM", "ENOSYS|EPERM"]),
    probe("reschedule-init", "choose the processors of pid 1", Init, User, ["ENOSYS|EPERM", "ENOSYS|EPERM", "ENOSYS|EPERM"]),
    probe("renice-init", "change the priority of pid 1", Init, User, ["ENOSYS|EPERM", "ENOSYS|EPERM", "ENOSYS|EPERM"]),
    probe("environment-of-victim", "read the environment of a process of the host's", Process, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("memory-of-victim", "read its memory in /proc", Process, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("files-of-victim", "list what it has open", Process, User, ["ENOENT", "ENOENT", "EACCES"]),
    probe("trace-victim", "trace it with ptrace", Process, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("read-memory-of-victim", "read its memory with process_vm_readv", Process, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("write-memory-of-victim", "write to its memory with process_vm_writev", Process, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("take-descriptor-of-victim", "take a descriptor of it with pidfd_getfd", Process, User, ["ESRCH", "ESRCH", "ENOSYS"]),
    probe("signal-victim", "signal it", Process, User, ["ESRCH", "ESRCH", "EPERM"]),
    probe("signal-victim-by-pidfd", "signal it by a pidfd", Process, User, ["ESRCH", "ESRCH", "EPERM"]),
    probe("limit-victim", "change its limits", Process, User, ["ENOSYS|ESRCH", "ENOSYS|ESRCH", "ENOSYS|EPERM"]),
    probe("reschedule-victim", "choose its processors", Process, User, ["ENOSYS|ESRCH", "ENOSYS|ESRCH", "ENOSYS|EPERM"]),
    probe("renice-victim", "change its priority", Process, User, ["ENOSYS|ESRCH", "ENOSYS|ESRCH", "ENOSYS|EPERM"]),
    probe("see-victim", "see that it is there", Process, User, ["ESRCH", "ESRCH", "gap"]),
    probe("signal-anyone", "signal anybody at all", Process, User, ["nobody", "nobody", "nobody"]),
    probe("message-queue-of-victim", "open a message queue of the host's", Ipc, Varies, ["ENOENT|ENOSYS", "ENOENT|ENOSYS", "EACCES|ENOSYS"]),
    probe("watch-host-activity", "watch what the host opens in /usr with inotify", Call, User, ["ENOSYS|silence", "ENOSYS|silence", "ENOSYS|silence"]),
    probe("list-processes", "list the host's processes", Process, User, ["own only", "ENOENT|own only", "EACCES"]),
    probe("share-session", "be in the caller's session", Start, User, ["own session", "own session", "own session"]),
    probe("inherited-descriptors", "use descriptors that the server has open", Start, User, ["none", "none", "none"]),
    probe("secret-in-environment", "find the server's environment", Start, User, ["absent", "absent", "absent"]),
    probe("write-to-stdin", "write to standard input", Start, Varies, ["read only", "read only", "read only"]),
    probe("namespace-cgroup", "be in the host's cgroup namespace", Namespace, User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-ipc", "be in the host's ipc namespace", Namespace, User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-mnt", "be in the host's mount namespace", Namespace, User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-net", "be in the host's network namespace", Namespace, User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-pid", "be in the host's pid namespace", Namespace, User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-user", "be in the host's user namespace", Namespace, User, ["own namespace", "ENOENT", "gap"]),
    probe("namespace-uts", "be in the host's uts namespace", Namespace, User, ["own namespace", "ENOENT", "gap"]),
];

/// The host's sockets, and socket families that nobody needs.
#[rustfmt::skip]
pub static NETWORK: &[Probe] = &[
    probe("tcp-host-loopback", "connect to a TCP service on the host's loopback", Socket, User, ["ECONNREFUSED", "ECONNREFUSED", "ENOSYS"]),
    probe("tcp-metadata-address", "connect to the cloud's metadata address", Socket, Varies, ["ENETUNREACH", "ENETUNREACH", "ENOSYS"]),
    probe("udp-host-loopback", "send to a UDP service on the host's loopback", Socket, User, ["ECONNREFUSED", "ECONNREFUSED", "ENOSYS"]),
    probe("abstract-unix-socket", "connect to an abstract unix socket", Socket, User, ["ECONNREFUSED", "ECONNREFUSED", "ENOSYS"]),
    probe("pathname-unix-socket", "connect to a unix socket in a folder", HostPath, User, ["ENOENT", "ENOENT", "ENOSYS"]),
    probe("container-engine", "connect to the container engine's socket", HostPath, Varies, ["ENOENT", "ENOENT", "ENOSYS"]),
    probe("system-bus", "connect to the system's message bus", HostPath, Varies, ["ENOENT", "ENOENT", "ENOSYS"]),
    probe("proxy-to-host-loopback", "reach the host's loopback through a granted network", Proxy, Varies, ["no proxy", "no proxy", "no proxy"]),
    probe("socket-packet", "make an AF_PACKET socket", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-raw-ip", "make a raw IP socket", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-raw-icmp6", "make a raw ICMPv6 socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-vsock", "make an AF_VSOCK socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-crypto", "make an AF_ALG socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-netfilter", "make a netlink socket for netfilter", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-ipsec", "make a netlink socket for IPsec", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-audit", "make a netlink socket for audit", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-uevent", "make a netlink socket for device events", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-express-data-path", "make an AF_XDP socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-tipc", "make a TIPC socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-bluetooth", "make a Bluetooth socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-key", "make an AF_KEY socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-rds", "make an RDS socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-smc", "make an AF_SMC socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-sctp", "make an SCTP socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-multipath-tcp", "make an MPTCP socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-smc-as-protocol", "make an SMC socket as a protocol of TCP's", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-udp-lite", "make a UDP-Lite socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-can", "make a CAN socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("socket-nfc", "make an NFC socket", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
];

/// System calls and privileges.
#[rustfmt::skip]
pub static KERNEL: &[Probe] = &[
    probe("unshare-user", "make a user namespace with unshare", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("unshare-mount", "make a mount namespace with unshare", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("clone-user", "make a user namespace with clone", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("clone3-user", "make a user namespace with clone3", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("clone3-plain", "use clone3, whose flags no filter sees", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("mount", "mount a file system", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("fsopen", "open a file system with fsopen", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("open-tree", "copy a mount with open_tree", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("move-mount", "attach a mount with move_mount", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("mount-setattr", "change a mount with mount_setattr", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("pivot-root", "change the root with pivot_root", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("unmount", "unmount what hides something", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("swap", "swap to a file", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("set-clock", "set the clock", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("load-kernel", "load another kernel with kexec", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("asynchronous-io", "use the old asynchronous I/O", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("program-from-memory", "start a program from memory without the walls", Start, User, ["walls kept|ENOSYS", "walls kept|ENOSYS", "walls kept|ENOSYS"]),
    probe("chroot", "change the root with chroot", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("enter-namespace", "enter another namespace with setns", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("keyring", "use the kernel's keyrings", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("bpf", "load BPF", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("io-uring", "set up io_uring", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("perf-events", "count with perf_event_open", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("userfaultfd", "handle page faults with userfaultfd", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("fanotify", "watch with fanotify", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("kernel-log", "read the kernel's log", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("kernel-symbols", "read the kernel's addresses in /proc/kallsyms", ShownPath, Varies, ["EACCES|addresses hidden", "ENOENT", "EACCES"]),
    probe("compare-kernel-objects", "compare kernel objects with kcmp", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("load-module", "load a kernel module", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("reboot", "restart the machine", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("set-host-name", "change the host's name", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("personality", "turn address randomization off", Call, User, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("sysv-shared-memory", "attach shared memory of the host's", Ipc, User, ["EINVAL|ENOSYS", "EINVAL|ENOSYS", "ENOSYS"]),
    probe("cgroup-files", "write to cgroup files", HostPath, Varies, ["none writable", "none writable", "none writable"]),
    probe("capabilities", "hold a capability", Privilege, Root, ["none", "none", "none"]),
    probe("bounding-set", "have a capability in reach", Privilege, User, ["empty", "empty", "gap"]),
    probe("new-privileges", "gain privileges by exec", Privilege, User, ["no_new_privs", "no_new_privs", "no_new_privs"]),
    probe("become-root", "become uid 0", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("keep-groups", "change its groups", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("core-dumps", "start the host's core dump handler", Limit, User, ["limit 1", "limit 1", "limit 1"]),
    probe("real-time-priority", "run before everybody else's processes", Limit, Root, ["EPERM", "EPERM", "EPERM"]),
    probe("raise-hard-limits", "raise a hard limit", Limit, Varies, ["EPERM", "EPERM", "EPERM"]),
    probe("modify-ldt", "change segment descriptors with modify_ldt", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("port-access", "use input and output ports", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("x32-numbers", "use the x32 call numbers", Call, Varies, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("int-80", "use the 32-bit call numbers", Call, Varies, ["SIGSYS", "SIGSYS", "SIGSYS"]),
];

/// The caller's terminal.
#[rustfmt::skip]
pub static TERMINAL: &[Probe] = &[
    probe("open-terminal", "open the caller's terminal", Terminal, User, ["ENOENT|ENXIO", "ENOENT|ENXIO", "EACCES|ENXIO"]),
    probe("inject-input", "type into the caller's terminal with TIOCSTI", Call, Root, ["ENOSYS", "ENOSYS", "ENOSYS"]),
    probe("standard-streams-are-terminals", "have a terminal as a standard stream", Start, User, ["none", "none", "none"]),
];

/// The probe programs by the group they make up.
pub static GROUPS: &[(&str, Program, &[Probe])] = &[
    ("files", crate::FILES, FILES),
    ("processes", crate::PROCESSES, PROCESSES),
    ("network", crate::NETWORK, NETWORK),
    ("kernel", KERNEL_PROGRAM, KERNEL),
    ("terminal", crate::TERMINAL, TERMINAL),
];

/// Only where the machine has them.
const X86_ONLY: [&str; 4] = ["modify-ldt", "port-access", "x32-numbers", "int-80"];

/// What one probe reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// `BLOCKED`, `ESCAPE` or `BROKEN`.
    pub verdict: String,
    /// By what, or what it got.
    pub detail: String,
}

/// The reports of a probe program, which must say nothing else and come to its end; or what is wrong with them.
pub fn reports(output: &str) -> Result<BTreeMap<String, Report>, String> {
    let mut reports = BTreeMap::new();
    let mut lines: Vec<&str> = output.lines().collect();
    let done = lines.pop();
    for line in &lines {
        let parsed = line.split_once(' ').and_then(|(verdict, rest)| Some((verdict, rest.split_once(": ")?)));
        let Some((verdict @ ("BLOCKED" | "ESCAPE" | "BROKEN"), (name, detail))) = parsed else {
            return Err(format!("not a probe's report: `{line}` in\n{output}"));
        };
        let report = Report { verdict: verdict.into(), detail: detail.into() };
        if reports.insert(name.to_owned(), report).is_some() {
            return Err(format!("`{name}` is reported twice"));
        }
    }
    if done != Some(&*format!("DONE {}", lines.len())) {
        return Err(format!("the probes did not come to their end:\n{output}"));
    }
    Ok(reports)
}

impl Probe {
    /// Whether this kind of machine has what it tries.
    pub fn applies(&self) -> bool {
        cfg!(target_arch = "x86_64") || !X86_ONLY.contains(&self.name)
    }

    /// Whether this host, seen from outside, has what it tries. Where it has not, its answer says nothing of any wall.
    pub fn is_on_host(&self) -> bool {
        let places = PLACES.iter().find(|(name, _)| *name == self.name).map_or(&[][..], |(_, places)| places);
        // What cannot be looked at may be there.
        let is_absent =
            |place: &&str| matches!(fs::symlink_metadata(place), Err(error) if error.kind() == ErrorKind::NotFound);
        places.is_empty() || !places.iter().all(is_absent)
    }

    /// What stops it at a level: one of these, separated by `|`.
    pub fn wall(&self, level: Level) -> &'static str {
        match level {
            Level::Full => self.full,
            Level::FullNoProc => self.no_proc,
            Level::Landlock => self.landlock,
        }
    }

    /// The layer without which a level does not stop it.
    pub fn gap(&self, level: Level) -> Option<&'static str> {
        GAPS.iter().find(|(at, name, _)| *at == level && *name == self.name).map(|(_, _, layer)| *layer)
    }

    /// What its report means, from a run that lacked the layers in `missing`.
    pub fn judge(&self, report: Option<&Report>, level: Level, missing: &[String]) -> Verdict {
        match report.map(|report| (&*report.verdict, &*report.detail)) {
            Some(("BLOCKED", sign)) => {
                let stands = |layer: &&str| !missing.iter().any(|missing| missing == layer);
                let by = self.answers(sign, level).iter().copied().filter(stands).map(str::to_owned).collect();
                Verdict::Blocked { by, sign: sign.to_owned() }
            }
            Some(("ESCAPE", got)) => match self.gap(level) {
                Some(layer) => Verdict::through(format!("{got}; level `{}` has no {layer}", level.name())),
                None => Verdict::through(got),
            },
            Some((_, detail)) => Verdict::unclear(detail),
            None => Verdict::unclear("the probe gave no answer"),
        }
    }

    /// The layers that give this answer at this door.
    fn answers(&self, sign: &str, level: Level) -> &'static [&'static str] {
        match (self.door, sign) {
            (_, "ENOSYS" | "SIGSYS" | "nothing done") => &["seccomp"],
            (
                HostPath | ShownPath | Mount | Terminal,
                "ENOENT" | "EROFS" | "nothing there" | "synthetic" | "nosuid" | "none writable",
            )
            | (Init, "ENOENT") => match level {
                Level::Full | Level::FullNoProc => &["mount-namespace"],
                // The host's root: what is not there is not on the host.
                Level::Landlock => &[],
            },
            (HostPath | Process | Terminal, "EACCES" | "EXDEV" | "EPERM")
            | (Init, "EPERM")
            | (Ipc | Privilege, "EACCES") => &["landlock"],
            (ShownPath, "EACCES") => &["landlock", "file permissions"],
            (ShownPath, "addresses hidden") => &["kernel"],
            (Init, "EACCES") => &["landlock", "non-dumpable-init"],
            (Process, "ESRCH" | "ENOENT" | "own only") => &["pid-namespace"],
            (Process, "nobody") => match level {
                Level::Full | Level::FullNoProc => &["pid-namespace"],
                Level::Landlock => &["landlock"],
            },
            (Ipc, "ENOENT" | "EINVAL") => &["ipc-namespace"],
            (Socket, "ECONNREFUSED" | "ENETUNREACH") | (Proxy, "no proxy") => &["network-namespace"],
            (Proxy, "refused") => &["egress"],
            (Namespace, "own namespace") => self.namespace(),
            (Privilege, "EPERM" | "none" | "empty") => &["capabilities"],
            (Privilege, "no_new_privs") | (Start, "walls kept") => &["no-new-privs"],
            (Limit, "limit 1") => &["rlimits"],
            (Limit, "EPERM") => &["rlimits", "capabilities"],
            (Start, _) | (Terminal, "ENXIO") => &["launcher"],
            _ => &[],
        }
    }

    fn namespace(&self) -> &'static [&'static str] {
        match self.name {
            "namespace-cgroup" => &["cgroup-namespace"],
            "namespace-ipc" => &["ipc-namespace"],
            "namespace-mnt" => &["mount-namespace"],
            "namespace-net" => &["network-namespace"],
            "namespace-pid" => &["pid-namespace"],
            "namespace-user" => &["user-namespace"],
            "namespace-uts" => &["uts-namespace"],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn all() -> impl Iterator<Item = &'static Probe> {
        GROUPS.iter().flat_map(|(_, _, probes)| *probes)
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = all().map(|probe| probe.name).collect();
        assert_eq!(names.len(), all().count());
    }

    /// The look from outside is at what the programs try.
    #[test]
    fn places_are_those_of_the_programs() {
        for (name, places) in PLACES {
            let group = GROUPS.iter().find(|(_, _, probes)| probes.iter().any(|probe| probe.name == *name));
            let (_, program, _) = group.expect("a place belongs to a probe");
            for place in *places {
                assert!(program.code.contains(&format!("\"{place}\"")), "`{name}` does not try `{place}`");
            }
        }
    }

    /// Whatever stops a probe on a good host, it is known which layer that is.
    #[test]
    fn every_wall_in_the_table_is_a_layers_answer() {
        for probe in all() {
            for sign in probe.full.split('|').filter(|sign| *sign != "silence") {
                let by = probe.answers(sign, Level::Full);
                assert!(!by.is_empty(), "`{}` is stopped by `{sign}`, and nobody knows who says so", probe.name);
            }
        }
    }

    /// What an unprotected host answers is a failure, for each of them.
    #[test]
    fn no_probe_passes_where_it_got_through() {
        for probe in all() {
            for (verdict, name) in [("ESCAPE", "NOT BLOCKED"), ("BROKEN", "unclear")] {
                let report = Report { verdict: verdict.to_owned(), detail: "something".to_owned() };
                for level in [Level::Full, Level::FullNoProc, Level::Landlock] {
                    assert_eq!(probe.judge(Some(&report), level, &[]).name(), name, "{}", probe.name);
                    assert_eq!(probe.judge(None, level, &[]).name(), "unclear", "{}", probe.name);
                }
            }
        }
    }

    #[test]
    fn a_layer_that_is_missing_stops_nothing() {
        let bpf = KERNEL.iter().find(|probe| probe.name == "bpf").expect("in the table");
        let report = Report { verdict: "BLOCKED".to_owned(), detail: "ENOSYS".to_owned() };
        assert_eq!(bpf.judge(Some(&report), Level::Full, &[]), Verdict::blocked("seccomp", "ENOSYS"));
        let nobody = Verdict::Blocked { by: Vec::new(), sign: "ENOSYS".to_owned() };
        assert_eq!(bpf.judge(Some(&report), Level::Full, &["seccomp".to_owned()]), nobody);
    }

    #[test]
    fn a_program_that_stopped_half_way_has_reported_nothing() {
        assert!(reports("BLOCKED one: ENOENT\nDONE 1\n").is_ok());
        for output in
            ["", "BLOCKED one: ENOENT\n", "BLOCKED one: ENOENT\nDONE 2\n", "hello\nDONE 1\n", "ESCAPE\nDONE 1\n"]
        {
            assert!(reports(output).is_err(), "{output}");
        }
    }
}
