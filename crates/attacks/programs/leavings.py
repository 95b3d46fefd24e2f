"""Leaves things in the workspace for whoever collects the output files. Arguments: mode, marker, then the mode's own.

Every mode also leaves `plain.txt`, which must come through whatever lies beside it.
"""
import ctypes
import os
import socket
import stat
import sys
import time
import zipfile


def change_mode(path, mode):
    """By descriptor: without a root of its own, a run may not change what a path names."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fchmod(descriptor, mode)
    os.close(descriptor)


MODE = sys.argv[1]
REST = sys.argv[3:]


def put(name, data=b"content\n"):
    with open(name, "wb") as file:
        file.write(data)


def plain():
    os.mkdir("directory")
    put("directory/inner.txt")


def names():
    """One file per hostile name, its own name as content."""
    candidates = [b"new\nline", b"tab\there", b"\x1b[31mred", b"\x01\x02\x7f", b"-rf", b"--help", b" ",
                  b" leading and trailing ", b"quote\"'`$(id)", b"back\\slash", b"%s%n", b"C:", b"nul", "\u202ebidi".encode(), "\ufffd.txt".encode(), b"\xff.txt", b"\xed\xa0\x80",
                  b"e\xcc\x81", "\u00e9".encode(), b"n" * 255, b"...", b"..a", b"~", b"*", b"#", b"a:b", b"<script>"]
    for name in candidates:
        put(name, name)
    os.makedirs(b"dir\nectory/-x")
    put(b"dir\nectory/-x/inner\x07", b"inner")
    os.makedirs(b"\xfe/sub")
    put(b"\xfe/sub/inner", b"inner")


def links():
    """REST: a secret file, a directory that holds it, a world-writable file. All on the host."""
    secret, directory, canary = REST
    for name, target in {"absolute": secret, "passwd": "/etc/passwd", "host-directory": directory, "root": "/", "dangling": "nowhere",
                         "loop": "loop", "up": "../../../../../../../../.." + secret, "self": "/proc/self/environ",
                         "parent": "..", "canary": canary, "init-root": "/proc/1/root" + secret}.items():
        os.symlink(target, name)
    os.mkdir("sub")
    os.symlink("../up", "sub/up")
    os.symlink(directory, "sub/directory")
    put("real.txt")
    os.link("real.txt", "second-name.txt")


def special():
    """What is there and is no regular file. What could not be made is said, so that nothing is left out in silence."""
    def attempt(name, make):
        try:
            make()
            print("made", name)
        except OSError as error:
            print("not made", name, error.strerror)
    attempt("fifo", lambda: os.mkfifo("fifo"))
    attempt("socket", lambda: socket.socket(socket.AF_UNIX).bind("socket"))
    attempt("whiteout", lambda: os.mknod("whiteout", 0o600 | stat.S_IFCHR, 0))
    put("renamed")
    ctypes.CDLL(None).renameat2(-100, b"renamed", -100, b"renamed-away", 4)  # RENAME_WHITEOUT leaves a device behind
    attempt("null device", lambda: os.mknod("device", 0o600 | stat.S_IFCHR, os.makedev(1, 3)))
    put("unreadable", b"no permission bits\n")
    change_mode("unreadable", 0)
    os.mkdir("closed")
    put("closed/inner", b"closed\n")
    change_mode("closed", 0)
    put("setuid", b"mode bits\n")
    change_mode("setuid", 0o6777)


def sparse():
    """As many huge holes as can be made: each costs nothing here and its full size to a careless copy."""
    size = 1 << 40
    while True:
        try:
            with open("hole", "wb") as file:
                file.truncate(size)
            break
        except OSError:
            size >>= 1
    for number in range(200):
        with open(f"hole-{number}", "wb") as file:
            file.truncate(min(size, 200 << 20))
    print("largest", size)


def hard_links():
    """1,000 names for one file of 8 MiB: 8 GiB to a copy that counts names."""
    put("big", b"b" * (8 << 20))
    for number in range(1000):
        os.link("big", f"big-{number}")


def archive():
    """100 MiB of zeros in a small archive. Nobody may unpack it unasked."""
    with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        for number in range(10):
            bomb.writestr(f"zeros-{number}", bytes(10 << 20))
    print("bytes", os.path.getsize("bomb.zip"))


def deep():
    """REST: how deep, and after how many seconds to stop trying. A chain of directories."""
    depth = 0
    end = time.monotonic() + float(REST[1])
    try:
        while depth < int(REST[0]) and time.monotonic() < end:
            os.mkdir("d")
            os.chdir("d")
            depth += 1
    except OSError as error:
        print("stopped:", error.strerror)
    print("depth", depth)


def many():
    """More files than anyone wants listed, and wide directories."""
    for number in range(2500):
        put(f"file-{number:05}", b"")


def race():
    """REST: a host directory with a file `secret`. A daemon swaps `swap` between a directory and a link to it, for ever."""
    os.mkdir("swap")
    put("swap/secret", b"inner\n")
    os.symlink(REST[0], "other")
    libc = ctypes.CDLL(None, use_errno=True)
    exchange = lambda: libc.renameat2(-100, b"swap", -100, b"other", 2)
    if exchange() != 0:
        print("no exchange", ctypes.get_errno())
        return
    read, write = os.pipe()
    for _ in range(2):
        if os.fork() == 0:
            os.setsid()
            count = 0
            while True:
                count += exchange() == 0
                if count == 1000:
                    os.write(write, b"x")
    os.read(read, 1)
    print("swapping")


def shadowing():
    """Names that the harness has put into the output directory beforehand, as links."""
    put("existing-link", b"from the guest\n")
    put("existing-file", b"from the guest\n")
    os.mkdir("existing-directory-link")
    put("existing-directory-link/canary", b"from the guest\n")


put("plain.txt", b"plain\n")
{name.replace("_", "-"): value for name, value in list(globals().items()) if callable(value)}[MODE]()
