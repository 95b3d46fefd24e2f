"""Probes: other processes (the jail's init, a host process of the same user), and what this one inherited."""
import fcntl
import resource
import select

VICTIM = HOST["victim"]
SECRET = HOST["secret_backwards"][::-1].encode()


def contents(path):
    with open(path, "rb") as file:
        data = file.read()
    return f"readable, secret {'found' if SECRET in data else 'absent'}"


def memory(pid):
    """Every private writable mapping, searched for the server's secret."""
    with open(f"/proc/{pid}/maps") as file:
        ranges = [[int(address, 16) for address in line.split()[0].split("-")] for line in file if " rw-p " in line]
    found = False
    size = 0
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        for start, end in ranges:
            file.seek(start)
            try:
                data = file.read(min(end - start, 64 << 20))
            except OSError:
                continue  # [vvar] and guard pages are mapped but not readable
            size += len(data)
            found |= SECRET in data
    if not size:
        raise Blocked("nothing readable")
    return f"readable, secret {'found' if found else 'absent'}"


def trace(pid):
    return syscall("ptrace", 0x4206, pid, 0, 0)


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def move_vector(call, pid):
    here = ctypes.create_string_buffer(8)
    local = Vector(ctypes.cast(here, ctypes.c_void_p), 8)
    # Page 1 is never mapped: EFAULT comes after the permission check.
    remote = Vector(0x1000, 8)
    return passes_permission_check(
        lambda: syscall(call, pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0), errno.EFAULT)


def take_descriptor(pid):
    pidfd = syscall("pidfd_open", pid, 0)
    return syscall("pidfd_getfd", pidfd, 0, 0)


def send_nothing(pid):
    os.kill(pid, 0)
    return f"may signal pid {pid}"


def send_nothing_by_pidfd(pid):
    signal.pidfd_send_signal(syscall("pidfd_open", pid, 0), 0)
    return f"may signal pid {pid}"


def limit(pid):
    """Only read. Whoever may read another's limits may lower them: no descriptors for a watchdog, no CPU time for anyone."""
    return f"may set limits, descriptors {resource.prlimit(pid, resource.RLIMIT_NOFILE)}"


def reschedule(pid):
    os.sched_setaffinity(pid, os.sched_getaffinity(pid))
    return "may choose its processors"


def renice(pid):
    os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid))
    return "may set its priority"


def register_all():
    for name, pid in {"init": INIT, "victim": VICTIM}.items():
        probe(f"environment-of-{name}")(lambda pid=pid: contents(f"/proc/{pid}/environ"))
        probe(f"memory-of-{name}")(lambda pid=pid: memory(pid))
        probe(f"files-of-{name}")(lambda pid=pid: os.listdir(f"/proc/{pid}/fd"))
        probe(f"trace-{name}")(lambda pid=pid: trace(pid))
        probe(f"read-memory-of-{name}")(lambda pid=pid: move_vector("process_vm_readv", pid))
        probe(f"write-memory-of-{name}")(lambda pid=pid: move_vector("process_vm_writev", pid))
        probe(f"take-descriptor-of-{name}")(lambda pid=pid: take_descriptor(pid))
        probe(f"signal-{name}")(lambda pid=pid: send_nothing(pid))
        probe(f"signal-{name}-by-pidfd")(lambda pid=pid: send_nothing_by_pidfd(pid))
        probe(f"limit-{name}")(lambda pid=pid: limit(pid))
        probe(f"reschedule-{name}")(lambda pid=pid: reschedule(pid))
        probe(f"renice-{name}")(lambda pid=pid: renice(pid))


register_all()


@probe("see-victim")
def see_victim():
    """EPERM would already tell that the pid exists."""
    try:
        os.kill(VICTIM, 0)
    except ProcessLookupError:
        raise
    except OSError as error:
        return f"exists: {errno.errorcode[error.errno]}"
    return "exists"


@probe("signal-anyone")
def signal_anyone():
    """Every pid up to the victim's and some beyond: may any but this family be signalled?"""
    family = {os.getpid(), os.getppid()}
    reached = []
    for pid in range(1, max(VICTIM, 4096) + 64):
        if pid in family:
            continue
        try:
            os.kill(pid, 0)
            reached.append(pid)
        except OSError:
            pass
    if not reached:
        raise Blocked("nobody")
    return reached


@probe("message-queue-of-victim")
def message_queue():
    """Queues have names of their own, outside every file system: only an ipc namespace or a filter keeps them apart."""
    descriptor = libc.mq_open(HOST["message_queue"].encode(), os.O_RDWR)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "mq_open")
    return "opened"


@probe("watch-host-activity")
def watch_host_activity():
    """The victim opens /usr/bin/env all the time. The jail's /usr has the host's inodes, and inotify watches inodes."""
    watch = libc.inotify_init1(os.O_NONBLOCK)
    if watch < 0 or libc.inotify_add_watch(watch, b"/usr/bin", 0x20) < 0:
        raise OSError(ctypes.get_errno(), "inotify")
    if not select.select([watch], [], [], 0.5)[0]:
        raise Blocked("silence")
    return os.read(watch, 4096)[16:].split(b"\0")[0].decode() + " was opened outside"


@probe("list-processes")
def list_processes():
    pids = {int(name) for name in os.listdir("/proc") if name.isdigit()} - {1, os.getpid(), os.getppid()}
    if not pids:
        raise Blocked("own only")
    return sorted(pids)


@probe("share-session")
def share_session():
    """A session of the caller's would hand the guest its terminal and its job control."""
    session = os.getsid(0)
    if session not in (0, HOST["session"]):
        raise Blocked("own session")
    return session


@probe("inherited-descriptors")
def inherited_descriptors():
    """The harness leaves descriptor 7, the secret file, open in the caller."""
    found = []
    for descriptor in range(3, 1024):
        try:
            fcntl.fcntl(descriptor, fcntl.F_GETFD)
            found.append(descriptor)
        except OSError:
            pass
    if not found:
        raise Blocked("none")
    return found


@probe("secret-in-environment")
def secret_in_environment():
    found = [name for name, value in os.environ.items() if SECRET.decode() in value or name.startswith("BELLJAR")]
    if not found:
        raise Blocked("absent")
    return found


@probe("write-to-stdin")
def write_to_stdin():
    """Standard input must not be a description that reaches back to the caller's file."""
    if fcntl.fcntl(0, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise Blocked("read only")
    return "open for writing"


def register_namespaces():
    for name in ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts"):
        def same(name=name):
            if os.stat(f"/proc/self/ns/{name}").st_ino != HOST["namespaces"][name]:
                raise Blocked("own namespace")
            return "the host's namespace"
        probe(f"namespace-{name}")(same)


register_namespaces()
run_probes()
