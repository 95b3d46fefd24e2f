"""Probes: what of the host's file system can be read, listed, written, linked or opened by other means."""
import stat

DEVICES = {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "shm", "ptmx", "pts"}
ROOT = {"bin", "box", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "proc", "root", "run", "sbin", "tmp", "usr", "var"}


def read(path):
    with open(path, "rb") as file:
        return f"read {len(file.read(64))} bytes of {path}"


def open_for_writing(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
    return f"opened {path} for writing"


def make_unnamed_file(directory):
    os.close(os.open(directory, os.O_WRONLY | os.O_TMPFILE, 0o600))
    return f"can create files in {directory}"


def strangers(directory, known):
    found = sorted(set(os.listdir(directory)) - known)
    if not found:
        raise Blocked("nothing there")
    return found


def register_all():
    reads = {
        "read-shadow": "/etc/shadow",
        "read-shadow-through-init-root": f"/proc/{INIT}/root/etc/shadow",
        "read-host-secret": HOST["secret_file"],
        "read-host-secret-by-dot-dot": "../" * 40 + HOST["secret_file"].lstrip("/"),
        "read-host-secret-through-own-root": "/proc/self/root" + HOST["secret_file"],
        "read-host-secret-through-init-root": f"/proc/{INIT}/root" + HOST["secret_file"],
        "read-kernel-memory-map": "/proc/kcore",
    }
    for name, path in reads.items():
        probe(name)(lambda path=path: read(path))
    for name, path in {"list-root-home": "/root", "list-var-lib": "/var/lib", "list-sys": "/sys", "list-run": "/run",
                       "list-host-directory": HOST["directory"]}.items():
        probe(name)(lambda path=path: strangers(path, set()))
    for name, path in {"write-host-canary": HOST["canary"], "write-etc-passwd": "/etc/passwd",
                       "write-linker-cache": "/etc/ld.so.cache", "write-usr-file": "/usr/lib/os-release",
                       "write-core-pattern": "/proc/sys/kernel/core_pattern", "write-sysrq": "/proc/sysrq-trigger",
                       "write-module-loader": "/proc/sys/kernel/modprobe",
                       "open-physical-memory": "/dev/mem", "open-kernel-messages": "/dev/kmsg", "open-virtual-machines": "/dev/kvm",
                       "open-tunnel": "/dev/net/tun", "open-user-file-systems": "/dev/fuse"}.items():
        probe(name)(lambda path=path: open_for_writing(path))
    for name, path in {"create-in-host-directory": HOST["directory"], "create-in-root": "/", "create-in-etc": "/etc",
                       "create-in-usr": "/usr", "create-in-usr-bin": "/usr/bin", "create-in-dev": "/dev"}.items():
        probe(name)(lambda path=path: make_unnamed_file(path))

    for path in HOST.get("granted_folders", []):
        probe(f"read-folder {path}")(lambda path=path: f"{len(os.listdir(path))} entries")
        probe(f"write-folder {path}")(lambda path=path: make_unnamed_file(path))


register_all()


@probe("list-root-directory")
def list_root_directory():
    return strangers("/", ROOT | set(HOST.get("granted_roots", [])))


@probe("list-devices")
def list_devices():
    return strangers("/dev", DEVICES)


@probe("read-host-passwd")
def read_host_passwd():
    """The jail's own /etc/passwd is made up; the host's says who else is on the machine."""
    with open("/etc/passwd") as file:
        if file.read() != HOST["passwd"]:
            raise Blocked("synthetic")
    return "the host's own"


@probe("follow-own-symlink-to-host-secret")
def follow_symlink():
    os.symlink(HOST["secret_file"], "link-to-secret")
    try:
        return read("link-to-secret")
    finally:
        os.unlink("link-to-secret")


@probe("hard-link-host-canary")
def hard_link():
    os.link(HOST["canary"], "link-to-canary")
    os.unlink("link-to-canary")
    return "linked a host file into the workspace"


@probe("write-release-agent")
def write_release_agent():
    """Version 1 of cgroups has one for each hierarchy, version 2 has none."""
    refused = None
    for path in ("/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/pids/release_agent",
                 "/sys/fs/cgroup/systemd/release_agent"):
        try:
            return open_for_writing(path)
        except OSError as error:
            if refused is None or error.errno != errno.ENOENT:
                refused = error
    raise refused


@probe("change-mode-of-open-file")
def change_mode():
    """To the mode that it has: what is done shows in when it was done."""
    descriptor = os.open("/usr/lib/os-release", os.O_RDONLY | os.O_CLOEXEC)
    before = os.fstat(descriptor)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
    if os.fstat(descriptor).st_ctime_ns == before.st_ctime_ns:
        raise Blocked("nothing done")
    return "changed the mode of a file that was opened to be read"


@probe("open-by-handle")
def open_by_handle():
    handle = ctypes.create_string_buffer(136)
    ctypes.memmove(handle, (128).to_bytes(4, "little"), 4)
    mount_id = ctypes.c_int()
    syscall("name_to_handle_at", -100, b"/usr", handle, ctypes.byref(mount_id), 0)
    return syscall("open_by_handle_at", os.open("/usr", os.O_RDONLY), handle, 0)


@probe("make-block-device")
def make_block_device():
    os.mknod("block-device", 0o600 | stat.S_IFBLK, os.makedev(254, 0))
    os.unlink("block-device")
    return "made a block device"


@probe("set-user-id-honoured")
def set_user_id_honoured():
    """A set-user-id program on a `nosuid` mount is an ordinary program."""
    mounts = [path for path in ("/usr", HOST["workspace"]) if not os.statvfs(path).f_flag & os.ST_NOSUID]
    if not mounts:
        raise Blocked("nosuid")
    return mounts


run_probes()
