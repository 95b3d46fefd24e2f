"""Prelude of every probe program: it is put in front of `files.py`, `processes.py` and the others.

A probe tries one forbidden thing. If it returns, the thing worked; if it raises OSError or Blocked, a wall stood. Each gives one
line, `ESCAPE name: detail`, `BLOCKED name: reason` or, when the probe itself went wrong, `BROKEN name: detail`.

Probes run where a wall is missing, on purpose (`--without`) and in the control run on the bare host, at times as root. So none
may change anything: open for writing and never write, O_TMPFILE instead of a name, signal 0, PTRACE_SEIZE, and arguments that
fail only after the permission check.
"""
import ctypes
import errno
import json
import os
import signal
import sys

HOST = json.loads(sys.argv[1])
MACHINE = os.uname().machine
X86 = MACHINE == "x86_64"
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
# Who started this program: pid 1 of the jail, the parent where there is no pid namespace, a victim in the control run.
INIT = os.getppid() if HOST["init"] == "parent" else HOST["init"]
PROBES = {}

# (x86-64, everything newer: aarch64 and the generic table)
NUMBERS = {
    "bpf": (321, 280), "clock_settime": (227, 112), "iopl": (172, None), "io_setup": (206, 0), "kexec_load": (246, 104),
    "memfd_create": (319, 279), "process_vm_writev": (311, 271), "swapon": (167, 224), "umount2": (166, 39),
    "capget": (125, 90), "chroot": (161, 51), "clone": (56, 220), "clone3": (435, 435),
    "fanotify_init": (300, 262), "fsopen": (430, 430), "getpid": (39, 172), "init_module": (175, 105),
    "io_uring_setup": (425, 425), "kcmp": (312, 272), "keyctl": (250, 219), "modify_ldt": (154, None),
    "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241), "personality": (135, 92),
    "pidfd_getfd": (438, 438), "pidfd_open": (434, 434), "pivot_root": (155, 41), "process_vm_readv": (310, 270),
    "ptrace": (101, 117), "reboot": (169, 142), "sethostname": (170, 161), "setns": (308, 268), "shmat": (30, 196),
    "syslog": (103, 116), "unshare": (272, 97), "userfaultfd": (323, 282),
}


class Blocked(Exception):
    """A wall that shows in another way than an errno."""


def probe(name):
    def register(function):
        PROBES[name] = function
        return function
    return register


def raw_syscall(number, *arguments):
    """The call's result, or OSError."""
    ctypes.set_errno(0)
    words = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def syscall(name, *arguments):
    return raw_syscall(NUMBERS[name][0 if X86 else 1], *arguments)


def passes_permission_check(call, *telling):
    """Runs a call whose arguments are invalid on purpose: one of the `telling` errnos means that only they stopped it."""
    try:
        return call()
    except OSError as error:
        if error.errno in telling:
            return f"permitted, then {errno.errorcode[error.errno]}"
        raise


def exit_of(function):
    """Wait status of a child that runs `function` and exits with its result: for what may kill its process."""
    child = os.fork()
    if child == 0:
        status = 255
        try:
            status = function()
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


def say(line):
    os.write(1, (line.replace("\n", " ") + "\n").encode())


def verdict(function):
    try:
        return "ESCAPE", str(function())[:200]
    except Blocked as wall:
        return "BLOCKED", str(wall)
    except OSError as error:
        return ("BLOCKED", errno.errorcode[error.errno]) if error.errno in errno.errorcode else ("BROKEN", repr(error))
    except BaseException as error:
        return "BROKEN", repr(error)[:200]


def run_probes():
    """Every probe in a child of its own, so that what one breaks in its process does not reach the next."""
    wanted = HOST.get("only") or list(PROBES)
    for name in wanted:
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            word, detail = verdict(PROBES[name])
            say(f"{word} {name}: {detail}")
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            say(f"BROKEN {name}: killed by signal {os.WTERMSIG(status)}")
    say(f"DONE {len(wanted)}")
