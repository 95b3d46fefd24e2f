"""Takes as much as it can get of one thing. `MODE control` takes a little and shows that taking works at all.

Arguments: mode, marker (the harness finds this run's processes by it), and for `control` the word itself. A number in its place
is the most that is taken, in MiB or pieces: the harness that asks for it runs on somebody's machine.
"""
import ctypes
import errno
import os
import resource
import signal
import socket
import sys
import time


def change_mode(path, mode):
    """By descriptor: without a root of its own, a run may not change what a path names."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fchmod(descriptor, mode)
    os.close(descriptor)


MODE = sys.argv[1]
CONTROL = sys.argv[3:] == ["control"]
MIB = 1 << 20


def most(usual):
    """What to stop at where nothing else does."""
    return usual if CONTROL or not sys.argv[3:] else int(sys.argv[3])


def name_of(error):
    return errno.errorcode.get(error.errno, str(error.errno))


def fork_count():
    """Children that wait, until fork is refused: the number is the limit as the guest sees it."""
    children = []
    refused = "none"
    for _ in range(3 if CONTROL else most(5000)):
        try:
            child = os.fork()
        except OSError as error:
            refused = name_of(error)
            break
        if child == 0:
            signal.pause()
        children.append(child)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print(f"forked {len(children)} refused {refused}")


def fork_bomb():
    """Every process forks for ever; none gives up."""
    if CONTROL:
        child = os.fork()
        if child == 0:
            os._exit(0)
        print("forked", os.waitpid(child, 0)[1])
        return
    print("started", flush=True)
    while True:
        try:
            os.fork()
        except OSError:
            pass


def touch(amount):
    """Memory with every page written."""
    block = bytearray(amount)
    for offset in range(0, amount, 4096):
        block[offset] = 1
    return block


def memory():
    """10 GiB in one piece, every page of it."""
    print("held", len(touch(16 * MIB if CONTROL else most(10 << 10) * MIB)))


def growing_memory():
    """10 GiB, 8 MiB at a time, slowly enough for whoever looks only now and then."""
    held = []
    for _ in range(2 if CONTROL else most(10 << 10) // 8):
        held.append(touch(8 * MIB))
        time.sleep(0.02)
    print(f"held {len(held) * 8} MiB")


def shared_memory():
    """Shared mappings, written and then unmapped but for one page: their pages stay, and are in no process's size.

    No more than 1 GiB: where nothing stops this, the host pays.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    held = 0
    refused = "none"
    for _ in range(1 if CONTROL else most(1024) // 32):
        size = 32 * MIB
        address = libc.mmap(None, ctypes.c_size_t(size), 3, 0x21, -1, 0)
        if address == ctypes.c_void_p(-1).value:
            refused = errno.errorcode[ctypes.get_errno()]
            break
        ctypes.memset(address, 1, size)
        libc.munmap(ctypes.c_void_p(address + 4096), ctypes.c_size_t(size - 4096))
        held += size
        time.sleep(0.02)
    time.sleep(0.2)
    print(f"hid {held} bytes refused {refused}")


def socket_buffers():
    """Datagrams that nobody reads: kernel memory of no process. Up to 1 GiB, over as many processes as it takes."""
    processes, pairs = (1, 4) if CONTROL else (16, 480)
    children = []
    for _ in range(processes):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            held, sockets = 0, []
            for _ in range(pairs):
                try:
                    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
                except OSError:
                    break
                sockets.append(pair)
                for end in pair:
                    end.setblocking(False)
                    try:
                        while held < (64 << 20):
                            held += end.send(bytes(32768))
                    except OSError:
                        pass
            os.write(write, held.to_bytes(8, "little"))
            time.sleep(600)
        os.close(write)
        children.append((child, read))
    total = sum(int.from_bytes(os.read(read, 8), "little") for _, read in children)
    time.sleep(0.3)
    for child, _ in children:
        os.kill(child, signal.SIGKILL)
    print(f"hid {total} bytes refused none")


def memory_of_many():
    """Sixteen processes that each stay below the limit of one, 1.5 GiB together."""
    share = 1 if CONTROL else most(1536) // 16
    children = []
    for _ in range(16):
        child = os.fork()
        if child == 0:
            block = touch(share * MIB)
            time.sleep(1.5)
            os._exit(len(block) // MIB % 251)
        children.append(child)
    full = sum(os.waitpid(child, 0)[1] == share % 251 << 8 for child in children)
    print(f"{full} of {len(children)} held {share} MiB")


def blinded_memory():
    """Whoever watches this run is its parent, with its uid. Without descriptors or processor time it would see nothing more."""
    parent = os.getppid()
    attempts = [
        lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (0, 0)),
        lambda: os.sched_setscheduler(parent, os.SCHED_IDLE, os.sched_param(0)),
        lambda: os.setpriority(os.PRIO_PROCESS, parent, 19),
    ]
    for attempt in attempts:
        try:
            if not CONTROL:
                attempt()
                print("blinded", flush=True)
        except OSError:
            pass
    memory_of_many()


def disk():
    """Fills every writable place, one file each and round again, until each refuses."""
    places = sorted({os.getcwd(), "/tmp", "/var/tmp", "/dev/shm", os.environ.get("TMPDIR", "/tmp")})
    written = 0
    refusals = set()
    block = b"x" * MIB
    for number in range(1 if CONTROL else 200):
        for place in [] if written >= most(1 << 20) * MIB else list(places):
            try:
                with open(f"{place}/fill-{number}", "wb", buffering=0) as file:
                    for _ in range(1 if CONTROL else 16):
                        written += file.write(block)
            except OSError as error:
                places.remove(place)
                if error.errno not in (errno.EACCES, errno.EROFS, errno.ENOENT):  # else it never was a writable place
                    refusals.add(name_of(error))
    print(f"wrote {written} bytes refused {'+'.join(sorted(refusals)) or 'none'}")


def hidden_disk():
    """Files where a size that is added up from a directory listing does not see them: unlinked, below a path that is too long to name,
    in a directory without permissions. 480 MiB at most, each file within the limit of one."""
    share = MIB if CONTROL else most(480) // 12 * MIB
    written, refused = 0, "none"

    def unlinked(number):
        file = open(f"unlinked-{number}", "wb", buffering=0)
        os.unlink(file.name)
        return file

    def deep(number):
        for _ in range(25):
            os.mkdir("d" * 250)
            os.chdir("d" * 250)
        return open(f"deep-{number}", "wb", buffering=0)

    def closed(number):
        os.mkdir(f"closed-{number}")
        file = open(f"closed-{number}/file", "wb", buffering=0)
        change_mode(f"closed-{number}", 0)
        return file
    held = []
    try:
        for place in (unlinked, closed, deep):
            for number in range(4):
                file = place(number)
                held.append(file)
                for _ in range(share // MIB):
                    written += file.write(b"x" * MIB)
                time.sleep(0.01)
        time.sleep(0.5)
    except OSError as error:
        refused = name_of(error)
    print(f"wrote {written} bytes refused {refused}")


def inodes():
    count = 0
    refused = "none"
    os.mkdir("many")
    for count in range(1, 11 if CONTROL else most(100_000) + 1):
        try:
            os.close(os.open(f"many/{count}", os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as error:
            count -= 1
            refused = name_of(error)
            break
    print(f"made {count} files refused {refused}")


def output():
    """1 GiB, as fast as the pipe takes it."""
    block = b"0123456789abcdef" * 4096
    total = 0
    goal = 16 if CONTROL else most(1024) * MIB
    while total < goal:
        total += os.write(1, block[:goal - total])
    os.write(2, f"wrote {total}\n".encode())


def endless_output():
    os.write(1, b"control\n")
    block = b"endless output\n" * 4096
    while not CONTROL:
        os.write(1, block)
        os.write(2, block)


def descriptors():
    held = []
    refused = "none"
    while len(held) < (3 if CONTROL else most(100_000)):
        try:
            held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError as error:
            refused = name_of(error)
            break
    for descriptor in held:
        os.close(descriptor)
    print(f"opened {len(held)} refused {refused}")


def processor():
    if CONTROL:
        print("counted")
        return
    while True:
        pass


{name.replace("_", "-"): value for name, value in list(globals().items()) if callable(value)}[MODE]()
