"""What surrounds a program: `initialize` before the snapshot, then `begin`, the program, and what is called at its end. Of a session's
programs, which share an interpreter, each has `begin_cell` and `end_cell` around it.

A program may change anything that Python can reach, this package too: what it breaks is its own run, in its own instance. Nothing that is
reported from here is believed any more than the program's own output.
"""

import atexit
import builtins
import gc
import importlib.machinery
import importlib.metadata
import io
import json
import linecache
import os
import site
import sys
import threading
import tokenize
import types
import weakref

import _belljar_host
from _belljar import aio, cells, errors, preload, rich, values

REPORT_VALUE, REPORT_REPR, REPORT_ERROR, REPORT_REASON, REPORT_DISPLAY = range(5)

# Freed when a program ends in an exception, so that even a MemoryError can be shown.
RESERVE = 1 << 20

ENVIRONMENT = {"HOME": "/tmp", "TMPDIR": "/tmp", "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

NO_LINE_ENDS = dict.fromkeys(map(ord, "\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")

EXIT_INTERRUPTED = 130

file = None
modules = frozenset()
reserve = None


def initialize():
    """Before the snapshot. Leaves no trace of the machine it runs on."""
    global modules, reserve
    preload.preload()
    aio.install()
    errors.install()
    rich.install(show)
    # There is no Matplotlib that would read it.
    os.environ.pop("MPLBACKEND")
    site.setquit()
    site.setcopyright()
    site.sethelper()
    os.environ.update(ENVIRONMENT)
    for name in [name for name in sys.modules if name.startswith("_belljar")]:
        del sys.modules[name]
    # Packages may be added to the tree after the snapshot: what the finders remember of that directory would hide them.
    sys.path_importer_cache.pop("/lib/site-packages", None)
    importlib.metadata.MetadataPathFinder.invalidate_caches()
    linecache.clearcache()
    # Each run makes a `__main__` of its own: this one is frozen with all the rest, what a program put in it would never be collected.
    # Its place stays, so that the big dictionary need not grow.
    sys.modules["__main__"] = None
    modules = frozenset(sys.modules) - {"__main__"}
    reserve = bytes(RESERVE)
    gc.collect()
    gc.freeze()


def begin(code, job):
    """Put everything in place that the program can see, and give it as a code object."""
    global file
    job = json.loads(job)
    file = job["file"]
    os.environ.update(job.get("env", {}))
    sys.argv = [file, *job.get("args", ())]
    sys.orig_argv = ["python3", *sys.argv]
    sys.path.insert(0, file.rpartition("/")[0] or "/")
    preload.refresh()
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", file)
    main.__dict__.update(__builtins__=builtins, __annotations__={}, __loader__=loader, __file__=file, __cached__=None)
    main.__dict__.update(job.get("variables", {}))
    # The program's text for tracebacks and `inspect`: the file itself when it is there, else this, when somebody asks.
    linecache.cache[file] = (lambda: source_text(code),)
    return _belljar_host.compile(code, file)


def begin_cell(code, job):
    """The same for a cell of a session."""
    global file, reserve
    if reserve is None:
        reserve = bytes(RESERVE)
    file = cells.begin(json.loads(job), source_text(code))
    return _belljar_host.compile(code, file)


def complete_cell(coroutine):
    return cells.complete(coroutine)


def keep_value(value):
    """As the interactive interpreter does it."""
    builtins._ = value


def end_cell():
    cells.end()
    return flush()


def show(display):
    """Something to look at, as `rich` makes it."""
    _belljar_host.report(REPORT_DISPLAY, json.dumps(display).encode())


def source_text(code):
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(code).readline)[0]
    except SyntaxError:
        encoding = "utf-8"
    # `linecache` will split it with `str.splitlines`, which knows more ends of a line than Python's grammar.
    return code.decode(encoding, "replace").translate(NO_LINE_ENDS)


def complete(coroutine):
    """A program with `await` at its top level is a coroutine."""
    return aio.run(coroutine)


def report_value(value):
    if (text := values.as_json(value)) is not None:
        _belljar_host.report(REPORT_VALUE, text)
        return
    shown = None
    try:
        rich.show(value)
        shown = rich.text(value)
    except BaseException:
        pass
    text = values.as_repr(value) if shown is None else shown.encode(errors="backslashreplace")
    if text is not None:
        _belljar_host.report(REPORT_REPR, text)


def report_exception(exception):
    """The exit code of a program that an exception ended."""
    global reserve
    if cells.main is None or isinstance(exception, MemoryError):
        reserve = None
    if isinstance(exception, SystemExit):
        return system_exit(exception.code)
    errors.strip(exception, file)
    # Before it is printed: the program's `sys.excepthook` may do anything.
    _belljar_host.report(REPORT_ERROR, errors.describe(exception, file))
    if (reason := errors.reason(exception)) is not None:
        _belljar_host.report(REPORT_REASON, reason.encode(errors="replace"))
    _belljar_host.print_exception(exception)
    return EXIT_INTERRUPTED if isinstance(exception, KeyboardInterrupt) else 1


def system_exit(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(1 << 31) <= code < 1 << 31 else 0xFF
    try:
        print(code, file=sys.stderr)
    except Exception:
        pass
    return 1


def exit_handlers():
    threading._shutdown()
    atexit._run_exitfuncs()
    rich.finish()
    flush()


def unload():
    """Take the program's modules out of `sys.modules`; weak references to them, in the order of their import."""
    imported = len(sys.modules) != len(modules) + 1
    names = [name for name in sys.modules if name not in modules] if imported else ["__main__"]
    return [weakref.ref(module) for name in names if isinstance(module := sys.modules.pop(name), types.ModuleType)]


def flush():
    """Whether all output could be written. The original streams too: a program may have put others in their place."""
    flushed = True
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:
            flushed = False
    return flushed
