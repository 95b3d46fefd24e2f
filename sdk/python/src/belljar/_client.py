"""`Belljar` and its sessions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from ._connection import Connection, encoded
from ._errors import BelljarError, Refused
from ._results import (
    Environment,
    InstalledPackages,
    ListedPackages,
    Listing,
    Named,
    OutputFile,
    RunResult,
    Runtimes,
    SessionInfo,
    Sessions,
    WrittenFile,
)

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

T = TypeVar("T")


class RunOptions(TypedDict, total=False):
    """What a run can be given beside its code."""

    language: str
    """Id or alias, such as `python`, `js`, `c++`; otherwise it is told from the code."""
    stdin: str
    """What the program reads from standard input."""
    args: Sequence[str]
    """Command line arguments of the program."""
    compiler_args: Sequence[str]
    """C and C++: `-std=…`, `-O2`, `-Wall` and others."""
    env: Mapping[str, str]
    """Environment variables."""
    files: Mapping[str, str | bytes]
    """Files that are put into the working directory first, by their relative paths."""
    variables: Mapping[str, Any]
    """Variables that the program finds set, with values that JSON has (Python, JavaScript, TypeScript)."""
    packages: Sequence[str]
    """Packages of PyPI or npm, such as `pandas>=2`. Those that imports need are mostly found without this."""
    engine: Literal["auto", "wasm", "native"]
    """Where to run it: `auto` starts in WebAssembly and moves to native when it has to."""
    timeout: float
    """Seconds. A run that takes longer ends with the status `timed_out`."""
    memory_mb: int
    """Memory limit in MiB."""
    on_output: Callable[[str], object]
    """Is called with new output while the run goes on, ten times a second at most, and with what belljar says while it
    installs packages. Of a flood it hears the latest 4 KiB, and it may not hear the end: the result has all of it."""


class Belljar:
    """Runs code in sandboxes of a `belljar` process, which lives as long as the `async with` block.

    Runs can go on side by side. When the task that awaits one is cancelled, it ends, with everything that it started.
    """

    def __init__(
        self,
        *,
        binary: str | os.PathLike[str] | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> None:
        """Starts nothing yet.

        Args:
            binary: The program, if it is not the one that `find_binary` finds.
            args: Options of `belljar serve`.
            env: Environment variables of the server beside those of this process. Code in a sandbox sees none of them.
            cwd: The server's working directory.
        """
        self._connection = Connection(binary, args, env, cwd)

    async def __aenter__(self) -> Self:
        await self._connection.open()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._connection.close()

    async def run(self, code: str, **options: Unpack[RunOptions]) -> RunResult:
        """Runs a program in a fresh sandbox."""
        return await _run(self._connection, {"code": code}, options)

    def session(self, name: str) -> Session:
        """The session of that name, which its first use opens."""
        return Session(self._connection, name)

    async def sessions(self) -> tuple[SessionInfo, ...]:
        """The live sessions."""
        return (await self._connection.call(Sessions, "list_sessions", {})).sessions

    async def runtimes(self) -> Runtimes:
        """Languages that can be run here, and within which limits."""
        return await self._connection.call(Runtimes, "list_runtimes", {})

    async def install(self, packages: Sequence[str], *, language: str = "python") -> InstalledPackages:
        """Makes packages ready, so that later runs that import them start at once."""
        given = {"packages": packages, "language": language}
        return await self._connection.call(InstalledPackages, "install_packages", given)

    async def packages(self, names: Sequence[str] = ()) -> ListedPackages:
        """Packages of the Python that native runs use; of `names`, those that are there and those that are missing."""
        return await self._connection.call(ListedPackages, "list_packages", {"packages": names})

    async def environment(self) -> Environment:
        """The Python that native runs use."""
        return await self._connection.call(Environment, "get_environment", {})

    async def configure_environment(
        self,
        type: Literal["venv", "uv", "conda", "host"],
        *,
        path: str | os.PathLike[str] | None = None,
        name: str | None = None,
    ) -> Environment:
        """Chooses the Python that native runs use, where the server's configuration allows it."""
        given = {"type": type, "path": None if path is None else os.fspath(path), "name": name}
        return await self._connection.call(Environment, "configure_environment", given)

    async def read(self, file: OutputFile | str) -> bytes:
        """The contents of a file that a result lists, or of a resource by its address, such as `run://…/stdout`.

        What a run made is kept for a quarter of an hour, what is in a session as long as that.
        """
        uri = file if isinstance(file, str) else file.uri
        if uri is None:
            raise BelljarError(f"the contents of `{file}` were not kept")
        return await self._connection.read_resource(uri)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result of any of the server's tools. Arguments that are `None` count as left out."""
        return await self._connection.call(dict[str, Any], tool, arguments)


class Session:
    """A workspace that stays, with one live interpreter for each language that is used in it.

    Leaving an `async with` block closes it. Otherwise it lives until it is closed, has been idle for half an hour, or
    its `Belljar` ends.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        """Made by `Belljar.session`."""
        self._connection = connection
        self.name = name

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # One that was not used, or is closed already, is not there.
        with suppress(Refused):
            await self.close()

    async def run(self, code: str, **options: Unpack[RunOptions]) -> RunResult:
        """Runs a cell: variables, imports and files of earlier ones are there."""
        return await _run(self._connection, {"code": code, "session": self.name}, options)

    async def install(self, packages: Sequence[str], *, language: str = "python") -> InstalledPackages:
        """Makes packages importable in later cells."""
        return await self._call(InstalledPackages, "install_packages", packages=packages, language=language)

    async def packages(self, names: Sequence[str] = (), *, language: str = "python") -> ListedPackages:
        """Packages that this session was given; of `names`, those that are there and those that are missing."""
        return await self._call(ListedPackages, "list_packages", packages=names, language=language)

    async def write_file(self, path: str, contents: str | bytes, *, append: bool = False) -> WrittenFile:
        """Puts a file into the workspace, in place of what was there or at its end."""
        return await self._call(WrittenFile, "write_file", path=path, append=append, **encoded(contents))

    async def read_file(self, path: str) -> bytes:
        """The contents of a file of the workspace."""
        return await self._connection.read_file(self.name, path)

    async def list_files(self, path: str | None = None) -> Listing:
        """What the workspace holds, or one folder of it."""
        return await self._call(Listing, "list_files", path=path)

    async def fork(self, name: str) -> Session:
        """An independent copy, variables and files, under another name (WebAssembly)."""
        await self._call(Named, "fork_session", **{"as": name})
        return Session(self._connection, name)

    async def save(self, name: str) -> None:
        """Keeps the session on disk under a name, also past the server's end (WebAssembly)."""
        await self._call(Named, "save_session", **{"as": name})

    async def restore(self, name: str) -> Self:
        """Opens this session as it was saved under a name."""
        await self._connection.call(Named, "restore_session", {"session": name, "as": self.name})
        return self

    async def close(self) -> None:
        """Ends it: its variables and files go."""
        await self._call(Named, "close_session")

    async def _call(self, kind: type[T], tool: str, **arguments: object) -> T:
        return await self._connection.call(kind, tool, {"session": self.name, **arguments})


async def _run(connection: Connection, given: dict[str, Any], options: RunOptions) -> RunResult:
    given.update(options)
    on_output = given.pop("on_output", None)
    if (seconds := given.pop("timeout", None)) is not None:
        given["timeout_ms"] = round(seconds * 1000)
    if (files := given.pop("files", None)) is not None:
        given["files"] = [{"path": path, **encoded(contents)} for path, contents in files.items()]
    return await connection.run(given, on_output)
