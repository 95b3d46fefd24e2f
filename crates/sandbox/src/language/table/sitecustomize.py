# Imported by every start of Python that was given packages or variables, or that waits for its program. What is here is done before the
# program's own module exists, so a program that waited looks to itself like any other.
import __main__, os, sys

here, packages = os.path.dirname(__file__), "/packages/python"
sys.path.remove(here)


def show_packages():
    # Behind the standard library, which they cannot replace, and before the host's own.
    site = [at for at, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages"))]
    sys.path.insert(site[0] if site else len(sys.path), packages)


def set_variables(path):
    import json

    with open(path, encoding="utf-8") as file:
        __main__.__dict__.update(json.load(file))


def wait(path):
    import json

    with open(path, encoding="utf-8") as file:
        modules = json.load(file)
    # Other Pythons that the program starts do not wait.
    os.remove(path)
    # What an import prints is the program's to print, which is not here yet.
    kept, noise = [os.dup(1), os.dup(2)], []
    for number in (1, 2):
        noise.append(os.open(os.path.join(here, "noise"), os.O_RDWR | os.O_CREAT | os.O_EXCL))
        os.remove(os.path.join(here, "noise"))
        os.dup2(noise[-1], number)
    for module in modules:
        __import__(module)
    sys.stdout.flush()
    sys.stderr.flush()
    said = []
    for number, (descriptor, file) in enumerate(zip(kept, noise), 1):
        said.append(os.pread(file, 1 << 16, 0))
        os.close(file)
        os.dup2(descriptor, number)
        os.close(descriptor)
    # What is here now stays: nothing looks through it again, not even at the end.
    import gc

    gc.collect()
    gc.freeze()
    # What was done ahead is not the program's to pay for.
    import time

    os.write(1, b"\x06" + int(time.process_time() * 1e6).to_bytes(8, "little"))

    def take(count):
        parts = []
        while count:
            part = os.read(0, min(count, 1 << 20))
            if not part:
                os._exit(1)
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    job = json.loads(take(int.from_bytes(take(8), "little")))
    for name, size in job["files"]:
        folder = os.path.dirname(name)
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(name, "wb") as file:
            file.write(take(size))
    for number, text in enumerate(said, 1):
        os.write(number, text)
    sys.argv[1:] = job["args"]
    sys.orig_argv += job["args"]
    if not os.path.isdir(packages):
        # Only this was started with it.
        del os.environ["PYTHONPATH"]


if os.path.isdir(packages):
    show_packages()
if os.path.exists(os.path.join(here, "variables.json")):
    set_variables(os.path.join(here, "variables.json"))
if os.path.exists(os.path.join(here, "wait.json")):
    wait(os.path.join(here, "wait.json"))
del show_packages, set_variables, wait
