"""Refuses to end, or leaves something behind. Arguments: mode, marker.

Every mode first says `ready`, so that a run which never got so far is told from one that was ended.
"""
import fcntl
import os
import signal
import sys
import time

MODE = sys.argv[1]


def ready():
    os.write(1, b"ready\n")


def detach(function):
    """setsid and a double fork: nobody's child, in nobody's session. Returns when the daemon runs."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(read)
            os.write(write, b"x")
            os.close(write)
            function()
            os._exit(0)
        os._exit(0)
    os.wait()
    os.close(write)
    os.read(read, 1)


def plain():
    ready()


def daemon_keeps_output():
    """Standard output stays open in a process that outlives the program: waiting for end-of-file would wait for ever."""
    detach(lambda: time.sleep(600))
    ready()


def daemons():
    for _ in range(5):
        detach(lambda: time.sleep(600))
    ready()


def forking_chain():
    """Each link forks the next and dies: always one ahead of whoever kills by a list of pids."""
    def chain():
        end = time.monotonic() + 600
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)
            os.setsid()
    detach(chain)
    ready()


def daemon_until_timeout():
    detach(lambda: time.sleep(600))
    ready()
    time.sleep(600)


def ignore_signals():
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass  # KILL, STOP and libc's own
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
    ready()
    while True:
        time.sleep(1)


def stop_self():
    ready()
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(600)


def stopped_child():
    """The child cannot act on anything but SIGKILL; the parent waits for it."""
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(600)
    os.waitpid(child, os.WUNTRACED)
    ready()
    os.waitpid(child, 0)


def close_streams():
    """End-of-file on both streams is not the end of the run."""
    ready()
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    time.sleep(0.3)
    os._exit(3)


def close_streams_and_stay():
    ready()
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    time.sleep(600)


def nonblocking_streams():
    """O_NONBLOCK belongs to the open description: if the server shares it, the server's reads and writes change too."""
    for descriptor in (0, 1, 2):
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_NONBLOCK)
    ready()
    left = 4 << 20
    while left:
        try:
            left -= os.write(1, b"n" * min(left, 65536))
        except BlockingIOError:
            time.sleep(0.001)


def shrink_pipe():
    """A pipe of one page, written a byte at a time: slower for the reader, never wrong."""
    for descriptor in (1, 2):
        try:
            fcntl.fcntl(descriptor, 1031, 4096)
        except OSError:
            pass
    ready()
    for _ in range(20_000):
        os.write(1, b"p")


def killed_by_own_signal():
    ready()
    os.kill(os.getpid(), signal.SIGSEGV)


def exit_code():
    """The third argument. 124 to 127 and 137 mean something to shells and to belljar; said by the program they are plain exit codes."""
    ready()
    os._exit(int(sys.argv[3]))


{name.replace("_", "-"): value for name, value in list(globals().items()) if callable(value)}[MODE]()
