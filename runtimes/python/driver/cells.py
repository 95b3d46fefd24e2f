"""One program after another in the same interpreter: `begin` and `end` around each. Variables and modules stay, and so does the event loop."""

import asyncio
import builtins
import importlib
import io
import linecache
import os
import sys
import types

from _belljar import preload, rich

main = None
runner = None
had_stdin = False


def begin(job, text):
    """Put everything in place that the cell can see. What the cell is called in tracebacks."""
    global had_stdin
    if main is None:
        start()
    file = job["file"]
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    os.environ.update(job.get("env", {}))
    sys.argv = [file, *job.get("args", ())]
    sys.orig_argv = ["python3", *sys.argv]
    # `exit()` closes it.
    if had_stdin or job.get("stdin") or getattr(sys.stdin, "closed", True):
        renew_stdin()
        had_stdin = job.get("stdin")
    if job.get("imports"):
        # Packages came or went beneath what the finders remember.
        importlib.invalidate_caches()
    # A cell may have taken it away, or put something else there: the next one is `__main__` again.
    sys.modules["__main__"] = main
    main.__dict__.pop("<value>", None)
    main.__dict__.update(job.get("variables", {}))
    rich.begin()
    return file


def start():
    global main
    preload.refresh()
    sys.path.insert(0, "")
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={})


def renew_stdin():
    """What the last cell left unread is not the next one's."""
    if sys.stdin is None or sys.stdin is sys.__stdin__ or sys.stdin.closed:
        raw = io.FileIO(0, "r", closefd=False)
        sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8", errors="surrogateescape")
        sys.stdin.mode = "r"


def complete(coroutine):
    """A cell with `await` at its top level is a coroutine. Its tasks go on when a later cell waits."""
    global runner
    if runner is None:
        runner = asyncio.Runner()
    try:
        return runner.run(coroutine)
    except KeyboardInterrupt:
        # Where the loop waited is nothing to look at.
        raise KeyboardInterrupt from None


def end():
    try:
        rich.finish()
    except BaseException:
        pass
