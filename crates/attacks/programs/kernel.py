"""Probes: system calls that make namespaces, change mounts, load code into the kernel or widen its attack surface, and privileges."""
import mmap
import resource
import struct
import threading

NEW_USER = 0x10000000


def child_of(call):
    """For clone and clone3: the new child must not go on with this program."""
    result = call()
    if result == 0:
        os._exit(0)
    os.waitpid(result, 0)
    return f"made pid {result}"


@probe("unshare-user")
def unshare_user():
    return syscall("unshare", NEW_USER)


@probe("unshare-mount")
def unshare_mount():
    return syscall("unshare", 0x20000)


@probe("clone-user")
def clone_user():
    return child_of(lambda: syscall("clone", NEW_USER | signal.SIGCHLD, 0, 0, 0, 0))


@probe("clone3-user")
def clone3_user():
    arguments = struct.pack("11Q", NEW_USER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    return child_of(lambda: syscall("clone3", arguments, len(arguments)))


@probe("clone3-plain")
def clone3_plain():
    """Its flags lie in memory, where seccomp cannot see them: the call must not exist at all, and threads must still work."""
    ran = []
    thread = threading.Thread(target=lambda: ran.append(True))
    thread.start()
    thread.join()
    if ran != [True]:
        raise RuntimeError("threads do not work")
    arguments = struct.pack("11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    return child_of(lambda: syscall("clone3", arguments, len(arguments)))


@probe("mount")
def mount():
    return passes_permission_check(lambda: syscall("mount", b"none", b"/tmp", b"no-such-filesystem", 0, 0), errno.ENODEV)


@probe("fsopen")
def fsopen():
    return syscall("fsopen", b"tmpfs", 0)


@probe("open-tree")
def open_tree():
    return syscall("open_tree", -100, b"/usr", 1)


@probe("move-mount")
def move_mount():
    # Descriptor -1 is looked up after may_mount().
    return passes_permission_check(lambda: syscall("move_mount", -1, b"", -1, b"", 0x44), errno.EBADF)


@probe("mount-setattr")
def mount_setattr():
    return passes_permission_check(lambda: syscall("mount_setattr", -1, b"", 0x1000, struct.pack("4Q", 0, 1, 0, 0), 32), errno.EBADF)


@probe("pivot-root")
def pivot_root():
    # The paths are looked up after may_mount().
    return passes_permission_check(lambda: syscall("pivot_root", b"/no-such-directory", b"/no-such-directory"), errno.ENOENT)


@probe("unmount")
def unmount():
    """What is mounted over might show what lies below."""
    return passes_permission_check(lambda: syscall("umount2", b"/no-such-directory", 0), errno.ENOENT)


@probe("swap")
def swap():
    # The path is looked up after the capability check.
    return passes_permission_check(lambda: syscall("swapon", b"/no-such-file", 0), errno.ENOENT)


@probe("set-clock")
def set_clock():
    """Two thousand million nanoseconds are no time: only a filter answers before the kernel's own EINVAL."""
    return passes_permission_check(lambda: syscall("clock_settime", 0, struct.pack("2q", 0, 2_000_000_000)), errno.EINVAL)


@probe("load-kernel")
def load_kernel():
    # More segments than there can be: EINVAL comes after the capability check.
    return passes_permission_check(lambda: syscall("kexec_load", 0, 1 << 20, 0, 0), errno.EINVAL)


@probe("asynchronous-io")
def asynchronous_io():
    """The calls that io_uring replaced: kernel code that nobody needs. What is set up ends with this process."""
    return syscall("io_setup", 1, ctypes.byref(ctypes.c_ulong()))


@probe("program-from-memory")
def program_from_memory():
    """A program that is in no file system starts behind the same walls, or not at all."""
    descriptor = syscall("memfd_create", b"program", 0)
    with open(os.path.realpath(sys.executable), "rb") as program, open(descriptor, "wb", closefd=False) as copy:
        copy.write(program.read())
    code = "import ctypes, os; os._exit(7 if ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) == 1 else 0)"

    def start():
        os.execve(descriptor, ["python3", "-c", code], {"PYTHONHOME": sys.base_prefix})
    status = exit_of(start)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 7:
        raise Blocked("walls kept")
    if status:
        raise RuntimeError(f"ended with {status}")
    return "runs without no_new_privs"


@probe("chroot")
def chroot():
    return syscall("chroot", b"/usr")


@probe("enter-namespace")
def enter_namespace():
    """On a descriptor that is no namespace: only a filter answers before the kernel's own EINVAL."""
    return passes_permission_check(lambda: syscall("setns", 0, 0), errno.EINVAL, errno.EBADF)


@probe("keyring")
def keyring():
    # Id of the thread's keyring, which is not created: ENOKEY comes from the keyring code itself.
    return passes_permission_check(lambda: syscall("keyctl", 0, -1, 0), errno.ENOKEY)


@probe("bpf")
def bpf():
    # MAP_CREATE of an array with one four-byte entry; gone with the descriptor.
    return syscall("bpf", 0, struct.pack("32I", 2, 4, 4, 1, *[0] * 28), 72)


@probe("io-uring")
def io_uring():
    return syscall("io_uring_setup", 4, ctypes.create_string_buffer(120))


@probe("perf-events")
def perf_events():
    attributes = bytearray(128)
    struct.pack_into("IIQ", attributes, 0, 1, 128, 0)  # software, cpu clock
    attributes[40] = 0x60  # exclude the kernel and the hypervisor: allowed to users
    return syscall("perf_event_open", bytes(attributes), 0, -1, -1, 0)


@probe("userfaultfd")
def userfaultfd():
    return syscall("userfaultfd", 1)


@probe("fanotify")
def fanotify():
    return syscall("fanotify_init", 0x200, 0)


@probe("kernel-log")
def kernel_log():
    return syscall("syslog", 3, ctypes.create_string_buffer(64), 64)


@probe("kernel-symbols")
def kernel_symbols():
    with open("/proc/kallsyms") as file:
        line = file.readline()
    if line.startswith("0000000000000000") or not line:
        raise Blocked("addresses hidden")
    return line.strip()


@probe("compare-kernel-objects")
def compare_kernel_objects():
    return syscall("kcmp", os.getpid(), os.getpid(), 1, 0, 0)


@probe("load-module")
def load_module():
    return passes_permission_check(lambda: syscall("init_module", 0, 0, 0), errno.ENOEXEC, errno.EFAULT)


@probe("reboot")
def reboot():
    # Wrong magic numbers: EINVAL comes after the capability check.
    return passes_permission_check(lambda: syscall("reboot", 0, 0, 0, 0), errno.EINVAL)


@probe("set-host-name")
def set_host_name():
    return passes_permission_check(lambda: syscall("sethostname", b"", -1), errno.EINVAL)


@probe("personality")
def personality():
    return syscall("personality", 0x0040000)


@probe("sysv-shared-memory")
def sysv_shared_memory():
    """The victim's segment, mode 0666, by its id."""
    address = syscall("shmat", HOST["shared_memory"], 0, 0o10000)
    return f"attached at {address:#x}"


@probe("cgroup-files")
def cgroup_files():
    for directory, _, names in os.walk("/sys/fs/cgroup"):
        for name in names:
            path = os.path.join(directory, name)
            if os.access(path, os.W_OK):
                return f"may write {path}"
    raise Blocked("none writable")


@probe("capabilities")
def capabilities():
    """Effective, permitted and inheritable, from the kernel itself: /proc may be absent."""
    header = struct.pack("II", 0x20080522, 0)
    data = ctypes.create_string_buffer(24)
    syscall("capget", header, data)
    held = struct.unpack("6I", data.raw)
    ambient = [number for number in range(41) if libc.prctl(47, 1, number, 0, 0) == 1]
    if not any(held) and not ambient:
        raise Blocked("none")
    return [hex(word) for word in held], ambient


@probe("bounding-set")
def bounding_set():
    held = [number for number in range(64) if libc.prctl(23, number, 0, 0, 0) == 1]
    if not held:
        raise Blocked("empty")
    return held


@probe("new-privileges")
def new_privileges():
    if libc.prctl(39, 0, 0, 0, 0) == 1:
        raise Blocked("no_new_privs")
    return "exec may raise privileges"


@probe("become-root")
def become_root():
    os.setresuid(0, 0, 0)
    return "uid 0"


@probe("keep-groups")
def keep_groups():
    groups = set(os.getgroups()) - {os.getgid()}
    os.setgroups(list(groups))
    return f"may set groups {groups}"


@probe("core-dumps")
def core_dumps():
    """0 stops core files, but a `core_pattern` with a pipe still starts the host's handler, as root. 1 stops both."""
    if resource.getrlimit(resource.RLIMIT_CORE) == (1, 1):
        raise Blocked("limit 1")
    return resource.getrlimit(resource.RLIMIT_CORE)


@probe("real-time-priority")
def real_time_priority():
    """Such a process keeps a processor for itself."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    return "runs before everybody else"


@probe("raise-hard-limits")
def raise_hard_limits():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard + 1))
    except ValueError:  # how this module spells EPERM
        raise Blocked("EPERM")
    return "raised the limit on descriptors"


if X86:
    @probe("modify-ldt")
    def modify_ldt():
        return syscall("modify_ldt", 0, ctypes.create_string_buffer(16), 16)

    @probe("port-access")
    def port_access():
        # Levels end at 3: only a filter answers before the kernel's own EINVAL.
        return passes_permission_check(lambda: syscall("iopl", 4), errno.EINVAL)

    @probe("x32-numbers")
    def x32_numbers():
        return raw_syscall(0x40000000 + NUMBERS["getpid"][0])

    @probe("int-80")
    def int_80():
        """The 32-bit table has other numbers: unshare is 310. mov ebx, CLONE_NEWUSER; mov eax, 310; int 0x80."""
        code = b"\x53\xbb\x00\x00\x00\x10\xb8\x36\x01\x00\x00\xcd\x80\x5b\x48\x98\xc3"

        def run():
            page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            page.write(code)
            function = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
            return -function() & 0x7F
        status = exit_of(run)
        if os.WIFSIGNALED(status):
            raise Blocked(signal.Signals(os.WTERMSIG(status)).name)
        if os.WEXITSTATUS(status) in (0, errno.ENOSPC, errno.EPERM):
            # The call reached the kernel's own checks: no filter looked at this ABI.
            return f"ran, errno {os.WEXITSTATUS(status)}"
        raise OSError(os.WEXITSTATUS(status), "int 0x80")

run_probes()
