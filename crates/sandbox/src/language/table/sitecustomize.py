# Imported by every start of Python that was given packages or variables, or that waits for its program. What is here is done before the
# program's own module exists, so a program that waited looks to itself like any other.
import os, sys

here, packages = os.path.dirname(__file__), "/packages/python"
sys.path.remove(here)


def show_packages():
    # Behind the standard library, which they cannot replace, and before the host's own.
    site = [at for at, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages"))]
    sys.path.insert(site[0] if site else len(sys.path), packages)


def show_displays(path):
    # What is shown is written to descriptor 3, out of the way of programs that count on the numbers of their own.
    try:
        os.dup2(3, 100, inheritable=False)
        os.close(3)
    except OSError:
        return
    rich = type(sys)("_belljar_rich")
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), "<belljar>", "exec"), vars(rich))

    def emit(display):
        import json

        frame = json.dumps(display).encode()
        os.write(100, b"%d\n" % len(frame) + frame)

    rich.install(emit)


def set_variables(path):
    import json

    with open(path, encoding="utf-8") as file:
        vars(sys.modules["__main__"]).update(json.load(file))


def keep():
    # Taking apart at the end what was here before the program takes longer than most programs run, so it is left as it is. What came with
    # the program ends as it always does, and in the same order. The first that is registered is the last that is called.
    import atexit, gc, weakref

    kept = {}
    # Where the interpreter says that it is when it does this itself.
    sweep = eval(compile("lambda *let_go: [act() for act in (*let_go, collect)]", "sys", "eval"), {"collect": gc.collect})

    class Mark:
        pass

    def leave():
        modules, main = sys.modules.copy(), sys.modules.get("__main__")
        replaced = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is not getattr(sys, f"__{name}__")]
        if main and not replaced:
            if gc.isenabled():
                # With all of it in use: a file is to end before what it writes to.
                sweep()
            for name in ("path", "argv", "last_exc", "last_type", "last_value", "last_traceback", "path_hooks", "meta_path"):
                setattr(sys, name, None)
            sys.path_importer_cache = None
            mark = weakref.ref(vars(main).setdefault("__mark__", Mark()))
            main = None
            del modules["__main__"]
            sweep(sys.modules.clear)
            sys.modules.update(modules)
            if mark() is None:
                for name, (module, size) in kept.items():
                    if module and len(vars(module)) == size:
                        sys.modules.pop(name, None)
                return
        # Something of before holds what the program made, say a handler that it registered: all of it ends together.
        gc.unfreeze()
        kept.clear()

    atexit.register(leave)
    return kept


def renew_main():
    # The one from before does not end with the program.
    old, new = vars(sys.modules["__main__"]), type(sys)("__main__")
    vars(new).clear()
    vars(new).update(old)
    if "__annotations__" in old:
        new.__annotations__ = {}
    sys.modules["__main__"] = new


def wait(path):
    ahead = keep()
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
    import gc

    # What is here now stays: nothing looks through it again, not even at the end.
    for name, module in sys.modules.items():
        if name not in ("__main__", "sys", "builtins") and isinstance(module, type(sys)):
            ahead[name] = module, len(vars(module))
    ahead[""] = None, ahead
    gc.collect()
    gc.freeze()
    renew_main()
    os.write(1, b"\x06")

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
if os.path.exists(os.path.join(here, "rich.py")):
    show_displays(os.path.join(here, "rich.py"))
if os.path.exists(os.path.join(here, "variables.json")):
    set_variables(os.path.join(here, "variables.json"))
if os.path.exists(os.path.join(here, "wait.json")):
    wait(os.path.join(here, "wait.json"))
del show_packages, show_displays, set_variables, keep, renew_main, wait
