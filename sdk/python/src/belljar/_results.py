"""What comes back, in the shapes of the tools' output schemas. `docs/reference/result.md` tells of each field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from ._errors import RunFailed

# What is known of these words. A newer server may have others, for which no result is given up: they come as they are.
Engine: TypeAlias = Literal["wasm", "native"] | str
Status: TypeAlias = Literal["completed", "crashed", "timed_out", "limit_exceeded", "cancelled"] | str

# In the schemas it is `bytes`, which in Python is a type.
Size: TypeAlias = Annotated[int, Field(alias="bytes")]


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """Bytes of output that were not kept: the middle of it."""

    stdout: int
    stderr: int


@dataclass(frozen=True, kw_only=True)
class ErrorDetail:
    """What the traceback or the compiler said."""

    kind: str
    message: str
    line: int | None = None
    hint: str | None = None


@dataclass(frozen=True, kw_only=True)
class OutputFile:
    """A file that a run made or changed. `Belljar.read` gets its contents."""

    path: str
    size: Size
    mime: str
    uri: str | None = None


@dataclass(frozen=True, kw_only=True)
class SkippedFile:
    """A file that was not brought back."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Display:
    """A picture, table or specification that the code showed."""

    mime: str
    size: Size
    uri: str | None = None
    data: bytes = b""

    @property
    def is_image(self) -> bool:
        """Whether `data` is a picture."""
        return self.mime.startswith("image/")


@dataclass(frozen=True, kw_only=True)
class RuntimeInfo:
    """What ran the code."""

    language: str
    tool: str
    version: str = ""


@dataclass(frozen=True, kw_only=True)
class Promotion:
    """Why another engine took over."""

    reason: str
    # `from` is a word of Python's own.
    source: Annotated[Engine, Field(alias="from")]


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package and its version."""

    name: str
    version: str


@dataclass(frozen=True, kw_only=True)
class RunPackages:
    """Packages that were made ready for the run, and how long that took."""

    installed: tuple[Package, ...]
    ms: float
    cached: bool
    unknown: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, kw_only=True)
class Isolation:
    """Which walls stood around the run, and what it was granted outside of them."""

    level: str
    missing: tuple[str, ...]
    memory: str
    processes: str
    granted: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the run took."""

    wall_ms: float
    cpu_ms: float
    cpu_source: str
    peak_memory_bytes: int
    memory_source: str


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What came of a run.

    `result` is the value of the last expression, for runtimes that have one and values that are plain data;
    `result_repr` is the printed form of other values. `state` is `lost` when the session's variables are gone, and `gone`
    when its files are too.
    """

    status: Status
    exit_code: int | None
    signal: str | None
    limit: str | None
    stdout: str
    stderr: str
    dropped: Dropped
    files: tuple[OutputFile, ...]
    engine: Engine
    runtime: RuntimeInfo
    isolation: Isolation
    usage: Usage
    diagnostics: str | None = None
    result: Any = None
    result_repr: str | None = None
    displays: tuple[Display, ...] = ()
    error: ErrorDetail | None = None
    skipped_files: tuple[SkippedFile, ...] = ()
    session: str | None = None
    state: Literal["lost", "gone"] | str | None = None
    run: str | None = None
    promoted: Promotion | None = None
    packages: RunPackages | None = None

    @property
    def ok(self) -> bool:
        """Whether the code completed with exit code 0."""
        return self.status == "completed" and self.exit_code == 0

    @property
    def images(self) -> tuple[Display, ...]:
        """The displays that are pictures."""
        return tuple(display for display in self.displays if display.is_image)

    def check(self) -> RunResult:
        """Returns the result itself, or raises `RunFailed` unless it is `ok`."""
        if not self.ok:
            raise RunFailed(self)
        return self

    def describe(self) -> str:
        """How the run ended, in a line."""
        if self.status == "completed":
            ending = f"exit code {self.exit_code}"
        elif self.signal or self.limit:
            ending = f"{self.status}: {self.signal or self.limit}"
        else:
            ending = self.status
        return f"{ending}; {self.error.kind}: {self.error.message}" if self.error else ending


@dataclass(frozen=True, kw_only=True)
class WrittenFile:
    """A file of a workspace after it was written."""

    path: str
    size: Size
    uri: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file or folder of a workspace."""

    path: str
    kind: Literal["file", "folder", "other"] | str
    size: Size
    mime: str


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What a workspace holds. With `more`, there is more than was listed: list a folder."""

    files: tuple[Entry, ...]
    more: bool


@dataclass(frozen=True, kw_only=True)
class SessionInfo:
    """A live session."""

    session: str
    languages: tuple[str, ...]
    state: Literal["idle", "busy"] | str
    expires_in_s: int
    engine: Engine | None = None


@dataclass(frozen=True, kw_only=True)
class Sessions:
    """The live sessions, and the names of those that were saved."""

    sessions: tuple[SessionInfo, ...]
    saved: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Named:
    """The session, or what was saved of one, that came of a call."""

    session: str


@dataclass(frozen=True, kw_only=True)
class InstalledPackages:
    """Packages that are ready, and the engine whose runs find them."""

    packages: tuple[Package, ...]
    engine: Engine
    cached: bool
    ms: float


@dataclass(frozen=True, kw_only=True)
class ListedPackages:
    """Packages that are there, and those that were asked for and are not."""

    packages: tuple[Package, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The Python that native runs use."""

    type: Literal["venv", "uv", "conda", "host"] | str
    python: str
    version: str
    path: str | None = None


@dataclass(frozen=True, kw_only=True)
class Language:
    """A language that can be run; the preferred engine comes first."""

    language: str
    name: str
    aliases: tuple[str, ...]
    engines: tuple[Engine, ...]
    version: str | None = None


@dataclass(frozen=True, kw_only=True)
class UnavailableLanguage:
    """A language that cannot be run here, and why."""

    language: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a run gets."""

    timeout_ms: int
    memory_mb: int
    workspace_mb: int
    files: int
    processes: int


@dataclass(frozen=True, kw_only=True)
class Runtimes:
    """What can be run here: languages, what a run gets and what it can ask for, and what it reaches outside."""

    languages: tuple[Language, ...]
    unavailable: tuple[UnavailableLanguage, ...]
    defaults: Limits
    ceilings: Limits
    network: str
    folders: tuple[str, ...] = ()
