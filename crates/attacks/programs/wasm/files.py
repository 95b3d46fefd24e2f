# A guest in WebAssembly that wants the host's files. The first argument is what it is told of the host, as JSON.
# Prints one line for each attempt: its name, and the error that stopped it or what it got.
import json, os, sys

facts = json.loads(sys.argv[1])
SECRET = facts["secret_backwards"][::-1]


def attempt(name, call):
    try:
        got = call()
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        print(f"{name}: {'blocked' if number is None else 'errno'} {number if number is not None else type(error).__name__}")
    else:
        print(f"{name}: GOT {got!r:.80}")


def read(path):
    return lambda: open(path, "rb").read(200)


def write(path):
    """Opened and closed, and what was made is removed: where this works, the file is somebody's."""
    def open_it():
        is_new = not os.path.lexists(path)
        open(path, "a").close()
        if is_new:
            os.remove(path)
        return "open for writing"
    return open_it


# The control: the same calls work where they should.
open("/box/own", "w").write("mine")
os.symlink("own", "/box/link")
assert read("/box/own")() == read("/box/link")() == read("/box/../box/./own")() == read("own")() == b"mine"

directory, secret, canary = facts["directory"], facts["secret_file"], facts["canary"]
for path in (
    "/etc/passwd", "/etc/shadow", "/etc/hostname", "/root", "/home", "/usr/bin/python3", "/bin/sh", "/sys/kernel", "/run",
    "/proc/self/environ", "/proc/self/maps", "/proc/self/mem", "/proc/1/cmdline", "/proc/self/root/etc/passwd", "/proc/self/fd/0",
    "/dev/mem", "/dev/kmsg", "/dev/tty", "/dev/ptmx", "/dev/shm/x", "/dev/fd/7", "/dev/fuse",
    secret, canary, directory,
):
    attempt(f"read {path}", read(path))
for path in ("/etc/passwd", canary, directory + "/new", "/new", "/lib/new", "/dev/new", "/usr/new"):
    attempt(f"write {path}", write(path))

for start in ("", "/box/", "/tmp/", "/box/missing/"):
    attempt(f"up from {start or '.'}", read(start + "../" * 30 + secret.lstrip("/")))
attempt("up through a file", read("/box/own/../../etc/passwd"))
attempt("NUL", read("/box/own\0/../../etc/passwd"))
attempt("two roots", read("//etc/passwd"))
attempt("by the host's name", read("\\\\?\\etc\\passwd"))

for number, target in enumerate(["/etc/passwd", "../../.." + secret, secret, "/proc/self/root", "/dev/fd/7", "/", ".."]):
    link = f"/box/link{number}"
    os.symlink(target, link)
    if target in ("/", ".."):
        attempt(f"link to {target}", read(link + "/etc/passwd"))
    else:
        attempt(f"link to {target}", read(link))
        attempt(f"link below {target}", read(link + "/x"))
attempt("hard link", lambda: (os.link(secret, "/box/hard"), read("/box/hard")())[1])
attempt("rename in", lambda: os.rename(secret, "/box/stolen"))
attempt("rename out", lambda: os.rename("/box/own", directory + "/planted"))
attempt("remove", lambda: os.remove(canary))
attempt("remove a directory", lambda: os.rmdir(directory))
attempt("make a directory", lambda: os.mkdir(directory + "/new"))
attempt("truncate", lambda: os.truncate(canary, 0))
attempt("times", lambda: os.utime(canary, (0, 0)))

# By a directory that is open already.
root = os.open("/", os.O_RDONLY)
box = os.open("/box", os.O_RDONLY)
for name, start in (("/", root), ("/box", box)):
    for path in ("etc/passwd", "../etc/passwd", "../" * 30 + "etc/passwd", secret, "../" * 30 + secret.lstrip("/")):
        attempt(f"{path} from {name}", lambda: os.read(os.open(path, os.O_RDONLY, dir_fd=start), 100))

# Whatever is open: the runtime's own directories, and nothing behind them.
for number in range(3, 64):
    for path in ("etc/passwd", "../etc/passwd", "../" * 30 + "etc/passwd", secret.lstrip("/"), "secret", "canary"):
        try:
            os.open(path, os.O_RDONLY, dir_fd=number)
        except OSError:
            continue
        print(f"{path} from descriptor {number}: GOT it")

print("root:", sorted(os.listdir("/")))
print("environment:", sorted(os.environ))
for place, text in (("arguments", sys.argv[2:]), ("environment", os.environ.values()), ("flags", [sys.executable, sys.prefix])):
    if any(SECRET in str(item) for item in text):
        print(f"{place}: GOT the secret")
