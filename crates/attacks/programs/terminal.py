"""Probes: the caller's terminal. The harness gives the caller a pseudo-terminal as its controlling one and as its input."""

TIOCSTI = 0x5412


@probe("open-terminal")
def open_terminal():
    os.close(os.open("/dev/tty", os.O_RDWR))
    return "the caller's terminal"


@probe("inject-input")
def inject_input():
    """A null pointer: EFAULT means that the permission check was passed, and no character is put in."""
    walls = set()
    for descriptor in (0, 1, 2):
        ctypes.set_errno(0)
        libc.ioctl(descriptor, TIOCSTI, None)
        if ctypes.get_errno() == errno.EFAULT:
            return f"may type into the caller's shell through descriptor {descriptor}"
        walls.add(errno.errorcode[ctypes.get_errno()])
    raise Blocked("+".join(sorted(walls)))


@probe("standard-streams-are-terminals")
def standard_streams():
    terminals = [descriptor for descriptor in (0, 1, 2) if os.isatty(descriptor)]
    if not terminals:
        raise Blocked("none")
    return terminals


run_probes()
