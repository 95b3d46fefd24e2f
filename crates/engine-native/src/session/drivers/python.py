"""A live Python: runs one cell after another in one `__main__`, as a notebook does.

Frames on descriptor 3, both ways: the length in decimal, a line feed, and that many bytes of JSON. A cell may change anything that Python can
reach, this file too: what it breaks is its own session, and nothing that is sent from here is believed any more than the cell's own output.
"""

import _ast
import _signal
import builtins
import io
import json
import os
import sys
import types

EXIT_INTERRUPTED = 130

# Who pays: the caller who reads the result.
LONGEST_MESSAGE = 2000

SIGINT = _signal.SIGINT
AWAIT = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
COROUTINE = 0x80

# Every `from __future__ import`: a cell's holds for the cells after it.
FUTURES = 0x1FE0000

process = os.getpid()
workspace = os.getcwd()
waiting = b""
futures = 0
loop = None
displays = []
handler = _signal.default_int_handler
interrupted = False
has_input = False


def main():
    take_channel()
    start()
    send({"ready": True})
    while (cell := receive()) is not None:
        send(run(cell))


def take_channel():
    global channel
    try:
        # Out of the way of programs that count on the numbers of their own descriptors.
        channel = os.dup2(3, 100, inheritable=False)
        os.close(3)
    except OSError:
        channel = 3
        os.set_inheritable(3, False)
    os.register_at_fork(after_in_child=leave_channel)


def leave_channel():
    global channel
    if channel is not None:
        os.close(channel)
        channel = None


def start():
    """What a cell sees is an interpreter that has run nothing yet."""
    global values, rich, main_module
    here = os.path.dirname(os.path.abspath(__file__))
    values, rich = load(here, "values"), load(here, "rich")
    main_module = sys.modules["__main__"] = types.ModuleType("__main__")
    main_module.__builtins__ = builtins
    # In place of this file's folder: modules are found in the workspace.
    sys.path[:] = ["", *(path for path in sys.path if path not in ("", here))]
    rich.HOOKS["linecache"] = linecache_imported
    rich.install(displays.append)
    _signal.signal(SIGINT, idle)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)


def load(here, name):
    """A file beside this one, under no name that a program could import: there is a package called `rich`."""
    module = types.ModuleType("_belljar_" + name)
    with open(os.path.join(here, name + ".py"), encoding="utf-8") as file:
        exec(compile(file.read(), __file__, "exec", dont_inherit=True), module.__dict__)
    return module


def idle(number, frame):
    """Between cells there is nothing to interrupt."""


def interrupt(number, frame):
    """While a cell's value is looked at: some of that would swallow the exception."""
    global interrupted
    interrupted = True
    raise KeyboardInterrupt


def receive():
    """The next cell, or None when the server is gone."""
    head = take_line()
    return json.loads(take(int(head))) if head else None


def take_line():
    global waiting
    while (end := waiting.find(b"\n")) < 0:
        if not (part := read_channel()):
            return b""
        waiting += part
    head, waiting = waiting[:end], waiting[end + 1 :]
    return head


def take(length):
    global waiting
    parts, missing = [waiting], length - len(waiting)
    while missing > 0:
        part = read_channel()
        if not part:
            sys.exit(0)
        parts.append(part)
        missing -= len(part)
    whole = b"".join(parts)
    waiting = whole[length:]
    return whole[:length]


def read_channel():
    while True:
        try:
            return os.read(channel, 1 << 16)
        except KeyboardInterrupt:
            # A handler of the program's own.
            pass


def send(report):
    body = json.dumps(report, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    frame = memoryview(b"%d\n%b" % (len(body), body))
    while frame:
        frame = frame[os.write(channel, frame) :]


def run(cell):
    global interrupted
    file, report, interrupted = cell["file"], {"done": cell["cell"], "exit_code": 0}, False
    displays.clear()
    rich.begin()
    value, exception = guarded(prepare_and_execute, cell, file)
    _, failure = guarded(look_at, report, value, exception, file)
    if interrupted or isinstance(exception, KeyboardInterrupt) or isinstance(failure, KeyboardInterrupt):
        report.update(exit_code=EXIT_INTERRUPTED, interrupted=True)
    # Its frames know this one: what they hold would stay until the collector comes by.
    value = exception = failure = None
    if os.getpid() != process:
        # A child of the cell's `os.fork` that came to the cell's end, which is the end of its program.
        sys.exit(report["exit_code"])
    flush()
    if displays:
        report["displays"] = displays
    return report


def guarded(function, *arguments):
    """What it returns and what it raises, with signals ignored from then on. A second one may come while the first is on its way."""
    try:
        try:
            try:
                return function(*arguments), None
            finally:
                ignore_interrupts()
        except BaseException as exception:
            ignore_interrupts()
            return None, exception
    except KeyboardInterrupt as exception:
        ignore_interrupts()
        return None, exception


def ignore_interrupts():
    global handler
    while True:
        try:
            current = _signal.signal(SIGINT, idle)
            break
        except KeyboardInterrupt:
            # It came when all was done.
            pass
    # A handler that a cell has set holds for the cells after it.
    if current is not None and current is not idle and current is not interrupt:
        handler = current


def prepare_and_execute(cell, file):
    prepare(cell, file)
    _signal.signal(SIGINT, handler)
    # A signal before this would be lost, and none comes.
    send({"begun": cell["cell"]})
    return execute(cell["code"], file)


def prepare(cell, file):
    keep_source(cell["code"], file)
    if cell.get("env"):
        os.environ.update(cell["env"])
    sys.argv = [file, *cell.get("args", ())]
    if cell.get("variables"):
        main_module.__dict__.update(cell["variables"])
    if cell.get("paths"):
        add_paths(cell["paths"])
    # A finder goes by its folder's time, which need not have changed since it looked.
    if (finder := sys.path_importer_cache.get(workspace)) is not None:
        finder.invalidate_caches()
    give_input(cell.get("stdin"))


def keep_source(code, file):
    """For tracebacks and `inspect`."""
    # Python's lines end where `StringIO`'s do; `splitlines` knows more ends.
    lines = io.StringIO(code, newline=None).readlines()
    # As `linecache` reads files. Where the last line has no end, 3.11 puts its carets a column too far.
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    entry = len(code), None, lines, file
    linecache = sys.modules.get("linecache")
    (sources if linecache is None else linecache.cache)[file] = entry


def linecache_imported(module):
    module.cache.update(sources)
    sources.clear()


# Until somebody imports `linecache`, which takes as long as all of the rest here.
sources = {}


def add_paths(paths):
    new = [path for path in paths if path not in sys.path]
    # Behind the standard library, which they cannot replace, and before the host's own and those of earlier cells.
    site = (at for at, path in enumerate(sys.path) if path in shown_paths or path.endswith(("site-packages", "dist-packages")))
    at = next(site, len(sys.path))
    sys.path[at:at] = new
    shown_paths.update(new)
    for finder in sys.path_importer_cache.values():
        if hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()


shown_paths = set()


def give_input(text):
    """Descriptor 0 itself, for the processes that the cell starts."""
    global has_input, stdin
    if not text and not has_input and not (sys.stdin is stdin and stdin.closed):
        return
    has_input = bool(text)
    descriptor = file_of(text.encode(errors="replace")) if text else os.open(os.devnull, os.O_RDONLY)
    os.dup2(descriptor, 0)
    # The same, if a cell has closed it.
    if descriptor != 0:
        os.close(descriptor)
    ours = sys.stdin is stdin
    stdin = open(0, encoding="utf-8", closefd=False)
    stdin.buffer.raw.name = "<stdin>"
    if ours or text:
        sys.stdin = stdin


stdin = sys.stdin


def file_of(data):
    try:
        descriptor = os.memfd_create("stdin")
    except (AttributeError, OSError):
        # Where memory cannot be accounted for, the jail has none.
        import tempfile

        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def execute(code, file):
    """The value of the last statement when it is an expression."""
    global futures
    tree = compile(code, file, "exec", _ast.PyCF_ONLY_AST | AWAIT | futures, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
    if tree.body or last is None:
        statements = compile(tree, file, "exec", AWAIT | futures, dont_inherit=True)
        futures |= statements.co_flags & FUTURES
    # Before anything runs: what the compiler refuses, it refuses all of.
    if last is not None:
        last = compile(_ast.Expression(last.value), file, "eval", AWAIT | futures, dont_inherit=True)
    parts = [*([statements] if tree.body else ()), *([last] if last is not None else ())]
    if any(part.co_flags & COROUTINE for part in parts):
        value = complete(evaluate_within_loop(parts))
    else:
        for part in parts:
            value = eval(part, main_module.__dict__)
    if last is None:
        return None
    if value is not None:
        builtins._ = value
    return value


async def evaluate_within_loop(parts):
    """All of the cell, for what needs a running loop need not itself await."""
    for part in parts:
        value = eval(part, main_module.__dict__)
        if part.co_flags & COROUTINE:
            value = await value
    return value


def complete(coroutine):
    """With `await` at its top level a cell is a coroutine. The loop stays: what one cell has begun, a later one can await."""
    global loop
    import asyncio

    if loop is None or loop.is_closed():
        loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except (KeyboardInterrupt, SystemExit):
        if not task.done():
            task.cancel()
            try:
                loop.run_until_complete(task)
            except BaseException:
                pass
        elif not task.cancelled():
            # Looked at, so that nobody says it was not.
            task.exception()
        raise


def look_at(report, value, exception, file):
    _signal.signal(SIGINT, interrupt)
    if isinstance(exception, SystemExit):
        report["exit_code"] = exit_code(exception.code)
    elif exception is not None:
        report["exit_code"] = 1
        tell(report, exception, file)
    elif value is not None:
        tell_value(report, value)
    if not isinstance(exception, KeyboardInterrupt):
        rich.finish()


def tell_value(report, value):
    if (text := values.as_json(value)) is not None:
        report["value_json"] = text.decode()
        return
    rich.show(value)
    text = rich.text(value)
    if text is None and (text := values.as_repr(value)) is not None:
        text = text.decode(errors="replace")
    if text is not None:
        report["value_repr"] = text


def exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def tell(report, exception, file):
    """An exception that ended a cell: its description, then its traceback as Python prints it, without this file's frames."""
    exception.__traceback__ = trace = cells_part(exception.__traceback__, file)
    report["error"] = error = {"kind": type(exception).__name__, "message": message(exception)}
    if isinstance(exception, SyntaxError) and exception.filename == file:
        if exception.text is None and exception.lineno:
            import linecache

            # The compiler looks for the line in the file, which is not there.
            exception.text = linecache.getline(file, exception.lineno) or None
        if exception.lineno:
            error["line"] = exception.lineno
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            error["line"] = trace.tb_lineno
        trace = trace.tb_next
    # What was printed before comes before.
    flush()
    try:
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(type(exception), exception, exception.__traceback__)
            return
        import traceback

        traceback.print_exception(type(exception), exception, exception.__traceback__)
    except Exception:
        # Of memory there may be enough when the frames are gone.
        exception.__traceback__ = None
        print(error["kind"] + ": " + error["message"], file=sys.stderr)


def cells_part(trace, file):
    """From the first frame that is the cell's; with `await` there are the event loop's before it."""
    first = trace
    while first is not None and first.tb_frame.f_code.co_filename != file:
        first = first.tb_next
    if first is not None:
        return first
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    # Interrupted while the loop waited.
    return None if trace is not None and loop is not None and "asyncio" in trace.tb_frame.f_code.co_filename else trace


def message(exception):
    try:
        text = str(exception.msg if isinstance(exception, SyntaxError) else exception)
    except Exception:
        text = "<exception str() failed>"
    lines = (line[:LONGEST_MESSAGE] for line in text[: LONGEST_MESSAGE * 2].splitlines() if line.strip())
    return next(lines, "")


def flush():
    """The original streams too: a program may have put others in their place."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except Exception:
            pass


main()
