"""An exception that ended the program: its traceback without our frames, its description for the host, and whether it is WebAssembly's doing."""

import errno
import importlib.util
import json
import linecache
import os
import socket
import sys
import traceback

from _belljar import linux

# Who pays: the caller who reads the result.
LONGEST_MESSAGE = 2000

# How far to look through causes, contexts and groups.
MOST_CHAINED = 100

DRIVER = "<belljar>"

# Names that these modules have on Linux and not here.
missing = {}

# Of the messages of the library and of urllib3, those that hide the cause.
NETWORK = ("unknown url type: https", "could not bind on any address", "the SSL module is not available")

MULTIPROCESSING = os.path.dirname(os.__file__) + "/multiprocessing/"

UNSUPPORTED = (errno.ENOSYS, errno.ENOTSUP, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)


def install():
    for module, names in linux.NAMES.items():
        missing[module] = frozenset(names).difference(dir(sys.modules[module]))
    missing["http.client"] = {"HTTPSConnection"}


def strip(exception, file):
    """Remove the frames that are not the program's: the driver's, and for a program with top-level `await` the event loop's below it."""
    trace = exception.__traceback__
    if trace is None or trace.tb_frame.f_code.co_filename == file:
        return
    while trace is not None and trace.tb_frame.f_code.co_filename != file:
        trace = trace.tb_next
    if trace is None:
        trace = exception.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == DRIVER:
            trace = trace.tb_next
    exception.__traceback__ = trace
    if isinstance(exception, SyntaxError) and exception.filename == file and exception.text is None and exception.lineno:
        # The compiler looks for the line in the file, which need not be there.
        exception.text = linecache.getline(file, exception.lineno) or None


def describe(exception, file):
    """JSON: kind, one line of message, and the line of the program where it happened."""
    description = {"kind": type(exception).__name__, "message": message(exception)}
    if (line := line_of(exception, file)) is not None:
        description["line"] = line
    return json.dumps(description, ensure_ascii=False).encode(errors="replace")


def message(exception):
    try:
        text = str(exception.msg if isinstance(exception, SyntaxError) else exception)
    except BaseException:
        text = "<exception str() failed>"
    for line in text[: LONGEST_MESSAGE * 2].splitlines():
        if line.strip():
            return line[:LONGEST_MESSAGE]
    return ""


def line_of(exception, file):
    if isinstance(exception, SyntaxError) and exception.filename == file:
        return exception.lineno
    line = None
    for frame, number in traceback.walk_tb(exception.__traceback__):
        if frame.f_code.co_filename == file:
            line = number
    return line


def reason(exception):
    """One sentence when the program stopped on what WebAssembly cannot do, else None."""
    try:
        for link in chain(exception):
            if (sentence := reason_of(link)) is not None:
                return sentence
    except BaseException:
        pass
    return None


def chain(exception):
    found, waiting = set(), [exception]
    while waiting and len(found) < MOST_CHAINED:
        link = waiting.pop(0)
        if link is None or id(link) in found:
            continue
        found.add(id(link))
        yield link
        waiting += [link.__cause__, link.__context__]
        if isinstance(link, BaseExceptionGroup):
            waiting += link.exceptions


def reason_of(exception):
    text = message(exception)
    if isinstance(exception, RuntimeError) and "can't start new thread" in text:
        return "WebAssembly cannot start threads"
    if "does not support processes" in text or isinstance(exception, (AttributeError, ImportError)) and passed(exception, MULTIPROCESSING):
        return "WebAssembly cannot start processes"
    if isinstance(exception, (OSError, ImportError)) and any(phrase in text for phrase in NETWORK):
        return "WebAssembly has no network"
    if isinstance(exception, ImportError):
        return missing_import(exception)
    if isinstance(exception, AttributeError):
        return missing_name(getattr(exception.obj, "__name__", None), exception.name)
    if isinstance(exception, NotImplementedError) and text == "WebAssembly has no signals":
        return text
    if isinstance(exception, OSError):
        if isinstance(exception, (socket.gaierror, socket.herror)) or passed(exception, socket.__file__):
            return "WebAssembly has no network"
        if exception.errno in UNSUPPORTED:
            return f"WebAssembly does not support this system call ({exception.strerror})"
    return None


def passed(exception, path):
    """Whether it came through code below this path."""
    return any(frame.f_code.co_filename.startswith(path) for frame, _ in traceback.walk_tb(exception.__traceback__))


def missing_import(exception):
    name = exception.name
    if name is None:
        return None
    if (exception.path or "").endswith(".so"):
        return native_code(exception.path.partition("/site-packages/")[2].replace("/", ".") or name)
    if not isinstance(exception, ModuleNotFoundError):
        # `from os import fork`, or `from package import extension`.
        return missing_name(name, exception.name_from) or extension(name, exception.name_from)
    top = name.partition(".")[0]
    if importlib.util.find_spec(top) is None:
        # A module of the library whose half in C is missing: `ctypes` fails on `_ctypes`.
        if top.startswith("_") and top[1:] in sys.stdlib_module_names:
            top = top[1:]
        return f"`{top}` is not in the WebAssembly Python"
    package, _, last = name.rpartition(".")
    return extension(package, last)


def extension(package, name):
    """A package that is there, with a part that is a shared library for Linux."""
    parent = sys.modules.get(package) or importlib.util.find_spec(package)
    for directory in getattr(parent, "__path__", None) or getattr(parent, "submodule_search_locations", None) or ():
        for file in os.listdir(directory):
            if file.partition(".")[0] == name and file.endswith(".so"):
                return native_code(package)
    return None


def native_code(name):
    return f"`{name.partition('.')[0]}` has a part in native code"


def missing_name(module, name):
    if name in missing.get(module, ()):
        return f"`{module}.{name}` is not in WebAssembly"
    return None
