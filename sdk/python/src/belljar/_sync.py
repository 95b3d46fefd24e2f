"""The same for programs without an event loop: one runs in a thread of its own."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from ._client import Belljar, RunOptions, Session
from ._errors import BelljarError
from ._results import (
    Environment,
    InstalledPackages,
    ListedPackages,
    Listing,
    OutputFile,
    RunResult,
    Runtimes,
    SessionInfo,
    WrittenFile,
)

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

P = ParamSpec("P")
T = TypeVar("T")


class SyncBelljar:
    """`Belljar` for code that does not await. It can be used from several threads."""

    def __init__(
        self,
        *,
        binary: str | os.PathLike[str] | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> None:
        """As for `Belljar`."""
        self._sandbox = Belljar(binary=binary, args=args, env=env, cwd=cwd)
        self._loop = _Loop()
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            portal = entered.enter_context(start_blocking_portal())
            entered.enter_context(portal.wrap_async_context_manager(self._sandbox))
            self._loop.portal = portal
            self._exit = entered.pop_all()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.portal = None
        self._exit.close()

    def run(self, code: str, **options: Unpack[RunOptions]) -> RunResult:
        """Runs a program in a fresh sandbox. A `KeyboardInterrupt` ends it. `on_output` is called in another thread."""
        return self._loop.wait(self._sandbox.run, code, **options)

    def start(self, code: str, **options: Unpack[RunOptions]) -> Future[RunResult]:
        """Starts a program and does not wait for it: `result()` of what comes back does, and `cancel()` ends it."""
        return self._loop.begin(self._sandbox.run, code, **options)

    def session(self, name: str) -> SyncSession:
        """The session of that name, which its first use opens."""
        return SyncSession(self._loop, self._sandbox.session(name))

    def sessions(self) -> tuple[SessionInfo, ...]:
        """The live sessions."""
        return self._loop.wait(self._sandbox.sessions)

    def runtimes(self) -> Runtimes:
        """Languages that can be run here, and within which limits."""
        return self._loop.wait(self._sandbox.runtimes)

    def install(self, packages: Sequence[str], *, language: str = "python") -> InstalledPackages:
        """Makes packages ready, so that later runs that import them start at once."""
        return self._loop.wait(self._sandbox.install, packages, language=language)

    def packages(self, names: Sequence[str] = ()) -> ListedPackages:
        """Packages of the Python that native runs use; of `names`, those that are there and those that are missing."""
        return self._loop.wait(self._sandbox.packages, names)

    def environment(self) -> Environment:
        """The Python that native runs use."""
        return self._loop.wait(self._sandbox.environment)

    def configure_environment(
        self,
        type: Literal["venv", "uv", "conda", "host"],
        *,
        path: str | os.PathLike[str] | None = None,
        name: str | None = None,
    ) -> Environment:
        """Chooses the Python that native runs use, where the server's configuration allows it."""
        return self._loop.wait(self._sandbox.configure_environment, type, path=path, name=name)

    def read(self, file: OutputFile | str) -> bytes:
        """The contents of a file that a result lists, or of a resource by its address."""
        return self._loop.wait(self._sandbox.read, file)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result of any of the server's tools."""
        return self._loop.wait(self._sandbox.call, tool, **arguments)


class SyncSession:
    """`Session` for code that does not await."""

    def __init__(self, loop: _Loop, session: Session) -> None:
        """Made by `SyncBelljar.session`."""
        self._loop = loop
        self._session = session
        self.name = session.name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.wait(self._session.__aexit__, None, None, None)

    def run(self, code: str, **options: Unpack[RunOptions]) -> RunResult:
        """Runs a cell: variables, imports and files of earlier ones are there."""
        return self._loop.wait(self._session.run, code, **options)

    def start(self, code: str, **options: Unpack[RunOptions]) -> Future[RunResult]:
        """Starts a cell and does not wait for it: `result()` of what comes back does, and `cancel()` ends it."""
        return self._loop.begin(self._session.run, code, **options)

    def install(self, packages: Sequence[str], *, language: str = "python") -> InstalledPackages:
        """Makes packages importable in later cells."""
        return self._loop.wait(self._session.install, packages, language=language)

    def packages(self, names: Sequence[str] = (), *, language: str = "python") -> ListedPackages:
        """Packages that this session was given; of `names`, those that are there and those that are missing."""
        return self._loop.wait(self._session.packages, names, language=language)

    def write_file(self, path: str, contents: str | bytes, *, append: bool = False) -> WrittenFile:
        """Puts a file into the workspace, in place of what was there or at its end."""
        return self._loop.wait(self._session.write_file, path, contents, append=append)

    def read_file(self, path: str) -> bytes:
        """The contents of a file of the workspace."""
        return self._loop.wait(self._session.read_file, path)

    def list_files(self, path: str | None = None) -> Listing:
        """What the workspace holds, or one folder of it."""
        return self._loop.wait(self._session.list_files, path)

    def fork(self, name: str) -> SyncSession:
        """An independent copy, variables and files, under another name (WebAssembly)."""
        return SyncSession(self._loop, self._loop.wait(self._session.fork, name))

    def save(self, name: str) -> None:
        """Keeps the session on disk under a name, also past the server's end (WebAssembly)."""
        self._loop.wait(self._session.save, name)

    def restore(self, name: str) -> Self:
        """Opens this session as it was saved under a name."""
        self._loop.wait(self._session.restore, name)
        return self

    def close(self) -> None:
        """Ends it: its variables and files go."""
        self._loop.wait(self._session.close)


class _Loop:
    """The event loop in its thread, while there is one."""

    portal: BlockingPortal | None = None

    def begin(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if self.portal is None:
            raise BelljarError("there is no server: use `with SyncBelljar() as sandbox`")
        return self.portal.start_task_soon(partial(function, *args, **kwargs))

    def wait(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        going = self.begin(function, *args, **kwargs)
        try:
            return going.result()
        finally:
            # Does nothing when it is done, which it is not when this thread is interrupted.
            going.cancel()
