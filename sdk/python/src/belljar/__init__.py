"""Runs code that nobody has vetted, in sandboxes.

    async with Belljar() as sandbox:
        result = await sandbox.run("print(6 * 7)", language="python")

`SyncBelljar` is the same without `await`. `code_sandbox` is mcp-run-python's.
"""

from ._binary import find_binary
from ._client import Belljar, RunOptions, Session
from ._code_sandbox import CodeSandbox, LogHandler, RunError, RunSuccess, code_sandbox
from ._errors import BelljarError, BinaryNotFound, Refused, RunFailed
from ._results import (
    Display,
    Dropped,
    Engine,
    Entry,
    Environment,
    ErrorDetail,
    InstalledPackages,
    Isolation,
    Language,
    Limits,
    ListedPackages,
    Listing,
    OutputFile,
    Package,
    Promotion,
    RunPackages,
    RunResult,
    RuntimeInfo,
    Runtimes,
    SessionInfo,
    SkippedFile,
    Status,
    UnavailableLanguage,
    Usage,
    WrittenFile,
)
from ._sync import SyncBelljar, SyncSession

__version__ = "0.1.0"

__all__ = [
    "Belljar",
    "BelljarError",
    "BinaryNotFound",
    "CodeSandbox",
    "Display",
    "Dropped",
    "Engine",
    "Entry",
    "Environment",
    "ErrorDetail",
    "InstalledPackages",
    "Isolation",
    "Language",
    "Limits",
    "ListedPackages",
    "Listing",
    "LogHandler",
    "OutputFile",
    "Package",
    "Promotion",
    "Refused",
    "RunError",
    "RunFailed",
    "RunOptions",
    "RunPackages",
    "RunResult",
    "RunSuccess",
    "RuntimeInfo",
    "Runtimes",
    "Session",
    "SessionInfo",
    "SkippedFile",
    "Status",
    "SyncBelljar",
    "SyncSession",
    "UnavailableLanguage",
    "Usage",
    "WrittenFile",
    "__version__",
    "code_sandbox",
    "find_binary",
]
