"""`code_sandbox`, as in the package mcp-run-python: a program that used it changes its import."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict

import anyio

from ._client import Belljar, Session
from ._errors import BelljarError, Refused
from ._results import RunResult

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

    def __init__(self, sandbox: Belljar, dependencies: list[str], log_handler: LogHandler | None) -> None:
        self._sandbox = sandbox
        self._dependencies = dependencies
        self._log_handler = log_handler
        self._numbers = count(1)

    async def eval(self, code: str, globals: dict[str, Any] | None = None) -> RunSuccess | RunError:
        """Runs code in the sandbox, with nothing left of earlier code.

        Args:
            code: Python code to run. It may `await`; the value of its last expression is the return value.
            globals: Variables that it finds set, with values that JSON has.
        """
        # A session for each: with these, code has a value and may await in both engines.
        session = self._sandbox.session(f"eval-{next(self._numbers)}")
        try:
            result = await session.run(code, language="python", variables=globals or {}, packages=self._dependencies)
            if result.ok:
                return {
                    "status": "success",
                    "output": self._told(result.stdout, result.stderr),
                    "return_value": await _value(session, result),
                }
            output, error = _failure(result)
            return {"status": "run-error", "output": self._told(result.stdout, output), "error": error}
        except Refused as refusal:
            is_install = str(refusal).startswith("`packages`")
            return {"status": "install-error" if is_install else "run-error", "output": [], "error": str(refusal)}
        finally:
            # What was refused is not there to be closed.
            with anyio.CancelScope(shield=True), suppress(BelljarError):
                await session.close()

    def _told(self, stdout: str, stderr: str) -> list[str]:
        output = _lines(stdout)
        complaints = _lines(stderr)
        if self._log_handler is not None:
            for line in output:
                self._log_handler("info", line)
            for line in complaints:
                self._log_handler("warning", line)
        return output + complaints


@asynccontextmanager
async def code_sandbox(
    *,
    dependencies: list[str] | None = None,
    log_handler: LogHandler | None = None,
    allow_networking: bool = True,
) -> AsyncGenerator[CodeSandbox, None]:
    """A sandbox for Python code.

    Args:
        dependencies: Packages to install, at once. `Refused` is raised where one cannot be.
        log_handler: Is called with each line of output: `info` for standard output, `warning` for standard error.
        allow_networking: Is taken and changes nothing: code has no network.
    """
    async with Belljar() as sandbox:
        if dependencies:
            await sandbox.install(dependencies)
        yield CodeSandbox(sandbox, dependencies or [], log_handler)


async def _value(session: Session, result: RunResult) -> JsonData:
    if result.result_repr is None:
        value: JsonData = result.result
        return value
    # It is no plain data, or has an integer of more than 64 bits. The last value is `_` in the session.
    converter = Path(__file__).with_name("_plain.py").read_text(encoding="utf-8")
    converted = await session.run(f"{converter}\n__import__('json').dumps(plain(_))", language="python")
    if not isinstance(converted.result, str):
        return result.result_repr
    parsed: JsonData = json.loads(converted.result)
    return parsed


def _failure(result: RunResult) -> tuple[str, str]:
    """What code wrote to standard error before it failed, and what is told of the failure."""
    traceback = re.search(r'^(Traceback \(most|  File "<cell)', result.stderr, re.MULTILINE)
    if result.status != "completed":
        seconds = result.usage.wall_ms / 1000
        error = f"timed out after {seconds:.1f} s" if result.status == "timed_out" else result.describe()
        return result.stderr, error
    if result.error is None or traceback is None:
        return result.stderr, f"SystemExit: {result.exit_code}"
    error = re.sub(r'File "<cell \d+>"', 'File "main.py"', result.stderr[traceback.start() :])
    if not error.startswith("Traceback"):
        error = f"Traceback (most recent call last):\n{error}"
    return result.stderr[: traceback.start()], error


def _lines(text: str) -> list[str]:
    """As they were printed; `str.splitlines` knows more ends of lines."""
    return text.removesuffix("\n").split("\n") if text else []
