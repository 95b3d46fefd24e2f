"""`code_sandbox`, as in the package mcp-run-python: a program that used it changes its import."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias, TypedDict

from ._connection import Connection

JsonData: TypeAlias = "str | bool | int | float | list[JsonData] | dict[str, JsonData] | None"
LoggingLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LogHandler: TypeAlias = Callable[[LoggingLevel, str], None]


class RunSuccess(TypedDict):
    """The code came to its end."""

    status: Literal["success"]
    output: list[str]
    return_value: JsonData


class RunError(TypedDict):
    """It did not, or what it needs could not be installed."""

    status: Literal["install-error", "run-error"]
    output: list[str]
    error: str


class CodeSandbox:
    """Evaluates Python code; `code_sandbox` makes one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def eval(self, code: str, globals: dict[str, Any] | None = None) -> RunSuccess | RunError:
        """Runs code in the sandbox, with nothing left of earlier code.

        Args:
            code: Python code to run. It may `await`; the value of its last expression is the return value.
            globals: Variables that it finds set, with values that JSON has.
        """
        given = {"python_code": code, "global_variables": globals}
        answer: RunSuccess | RunError = json.loads(await self._connection.call_for_text("run_python_code", given))
        return answer


@asynccontextmanager
async def code_sandbox(
    *,
    dependencies: list[str] | None = None,
    log_handler: LogHandler | None = None,
    allow_networking: bool = True,
) -> AsyncGenerator[CodeSandbox, None]:
    """A sandbox for Python code.

    Args:
        dependencies: Packages to install, at once. Where one cannot be, `BelljarError` is raised; stderr has the cause.
        log_handler: Is called with each line of output: `info` for standard output, `warning` for standard error.
        allow_networking: Whether code may connect to the hosts that belljar's configuration grants. It grants none
            unless somebody wrote so there.
    """
    args = ["--profile", "mcp-run-python", "stdio", "--return-mode", "json"]
    if dependencies:
        args.append(f"--deps={','.join(dependencies)}")
    if not allow_networking:
        args.append("--disable-networking")
    connection = Connection(None, args, None, None, log_handler)
    await connection.open()
    try:
        yield CodeSandbox(connection)
    finally:
        await connection.close()
