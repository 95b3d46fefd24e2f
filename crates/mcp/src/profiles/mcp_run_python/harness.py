"""Runs `python_code` as `main.py`, and leaves what came of it in a file beside it: the value of its last line, or the traceback.

A program may change anything that Python can reach, this too: what is in the file is the program's own word.
"""

import ast
import asyncio
import builtins
import inspect
import json
import linecache
import os
import re
import sys
import traceback
import types

FILE = "main.py"
NO_MICROPIP = "packages cannot be installed while code runs: name them with `--deps` when the server is started"


def run(code, variables):
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__.update(variables)
    main.__dict__.update(__name__="__main__", __builtins__=builtins)
    linecache.cache[FILE] = (len(code), None, code.splitlines(True), FILE)
    tree = compile(code, FILE, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = evaluate(tree, "exec", main.__dict__)
    return evaluate(last, "eval", main.__dict__) if last else value


def evaluate(tree, mode, names):
    code = compile(tree, FILE, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    value = eval(code, names)
    if code.co_flags & inspect.CO_COROUTINE:
        return loop.run(value)
    # A value that can be waited for is, as in the original.
    return loop.run(wait_for(value)) if inspect.isawaitable(value) else value


async def wait_for(value):
    return await value


def as_text(value, written):
    if value is None or isinstance(value, str):
        return value or None
    return dump(written, indent=2)


def writable(value):
    """What stands for it. Made once: a generator is over after that."""
    try:
        written = plain(value)
        dump(written)
        return written
    except Exception:
        return repr(value)


def dump(value, **style):
    # Half of a surrogate pair is no character. As JSON it would be no text, so it is written as Python shows it.
    return re.sub("[\ud800-\udfff]", lambda half: rf"\\u{ord(half[0]):04x}", json.dumps(value, ensure_ascii=False, **style))


def characters(text):
    return text and text.encode("utf-8", "backslashreplace").decode()


def plain(value):
    """As pydantic would write it."""
    kind = type(value)
    module = kind.__module__.partition(".")[0]
    if value is None or kind in (bool, int, float, str):
        return value
    if isinstance(value, dict):
        return {key(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) or kind.__name__ in ("deque", "generator"):
        return [plain(item) for item in value]
    if module == "numpy" and hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (bytes, bytearray)):
        return text_of(bytes(value))
    if kind.__name__ == "timedelta":
        return duration(value)
    if module == "datetime":
        return value.isoformat().replace("+00:00", "Z")
    if module in ("decimal", "_decimal", "uuid", "pathlib", "ipaddress") or kind is complex:
        return str(value).strip("()")
    if isinstance(value, (int, float, str)) and not hasattr(kind, "__members__"):
        return value
    if hasattr(kind, "__members__"):
        return plain(value.value)
    if hasattr(kind, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in kind.__dataclass_fields__}
    if hasattr(kind, "__pydantic_fields__"):
        return plain(value.model_dump())
    return repr(value)


def text_of(value):
    try:
        return value.decode()
    except UnicodeDecodeError:
        return repr(value)


def key(name):
    if isinstance(name, tuple):
        return ",".join(map(key, name))
    if isinstance(name, bool):
        return str(name).lower()
    return name if isinstance(name, str) else str(plain(name))


def duration(value):
    days, seconds = abs(value).days, abs(value).seconds
    parts = [(seconds // 3600, "H"), (seconds // 60 % 60, "M")]
    text = "".join(f"{count}{unit}" for count, unit in parts if count)
    seconds = f"{seconds % 60}.{abs(value).microseconds:06}".rstrip("0").rstrip(".")
    text += f"{seconds}S" if seconds != "0" else ""
    sign = "-" if value.days < 0 else ""
    return f"{sign}P{f'{days}D' if days else ''}{'T' + text if text or not days else ''}" + ("0S" if not text and not days else "")


def report(exception):
    frames = exception.__traceback__
    while frames and frames.tb_frame.f_code.co_filename != FILE:
        frames = frames.tb_next
    text = "".join(traceback.format_exception(type(exception), exception, frames))
    return text if frames else "Traceback (most recent call last):\n" + text


def micropip():
    module = types.ModuleType("micropip")

    async def install(*_, **__):
        raise RuntimeError(NO_MICROPIP)

    module.install = install
    return module


place = os.path.abspath(".mcp-run-python.json")
# Or Python would show a line of it where it shows one of the program, which is called the same.
if os.path.exists(FILE):
    os.remove(FILE)
loop = asyncio.Runner()
sys.modules["micropip"] = micropip()
failure = None
try:
    value = run(python_code, global_variables)
    written = writable(value)
    result = {"text": characters(as_text(value, written)), "json": dump(written, separators=(",", ":"))}
except BaseException as exception:
    failure = exception
    result = {"error": characters(report(exception))}
with open(place, "w", encoding="utf-8") as file:
    json.dump(result, file)
if failure is not None:
    # Whoever runs this learns what stopped the program, which is told in the file and nowhere else.
    sys.excepthook = lambda *_: None
    raise failure
