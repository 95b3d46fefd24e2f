"""A `belljar serve` of our own, spoken to over standard streams."""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import mcp
from mcp.client.stdio import stdio_client
from mcp.types import (
    BlobResourceContents,
    CallToolResult,
    ImageContent,
    LoggingLevel,
    LoggingMessageNotificationParams,
    ResourceLink,
    TextContent,
)
from pydantic import TypeAdapter

from ._binary import find_binary
from ._errors import BelljarError, Refused
from ._results import RunResult

T = TypeVar("T")

# Of a file, in one message. The server's messages have 9 MB, and JSON takes up to six bytes for one.
_PART = 1 << 20

# What the server says when there is no output to tell of, so that its client does not think it dead.
_SIGN_OF_LIFE = re.compile(r"running, \d+ s")

_REFUSAL = "Refused: "

_ADAPTERS: dict[object, TypeAdapter[Any]] = {}


class Connection:
    """The server's process, and what its tools answer."""

    def __init__(
        self,
        binary: str | os.PathLike[str] | None,
        args: Sequence[str],
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None,
        on_log: Callable[[LoggingLevel, str], None] | None = None,
    ) -> None:
        self._server = mcp.StdioServerParameters(
            command=str(find_binary(binary)),
            args=["serve", *args],
            # All of it: proxies, and the settings of package clients, are the server's to know.
            env={**os.environ, **(env or {})},
            cwd=None if cwd is None else os.fspath(cwd),
        )
        self._on_log = on_log
        self._client: mcp.Client | None = None

    async def open(self) -> None:
        """Starts the server."""
        client = mcp.Client(
            # `sys.stderr` may be no file, in notebooks and in tests.
            stdio_client(self._server, errlog=sys.__stderr__ or sys.stderr),
            logging_callback=self._log,
            log_level=None if self._on_log is None else "debug",
        )
        try:
            self._client = await client.__aenter__()
        except Exception as error:
            cause = _unwrapped(error)
            raise BelljarError(f"`{self._server.command} serve` does not answer: {cause}") from cause

    async def close(self) -> None:
        """Ends the server, and with it all runs and sessions."""
        client, self._client = self._client, None
        if client is not None:
            # Without the exception that may be the reason: a task group would wrap it, and it goes on by itself.
            await client.__aexit__(None, None, None)

    async def call(self, kind: type[T], tool: str, arguments: Mapping[str, object]) -> T:
        """A tool's structured result."""
        return read_as(kind, _structured(await self._call(tool, arguments)))

    async def call_for_text(self, tool: str, arguments: Mapping[str, object]) -> str:
        """A tool's result in words."""
        return _text(await self._call(tool, arguments))

    async def run(self, arguments: Mapping[str, object], on_output: Callable[[str], object] | None) -> RunResult:
        """The result of `run_code`, with the contents of what was displayed."""
        result = await self._call("run_code", arguments, on_output)
        structured = _structured(result)
        # After the text there is a block for each display, in their order: a picture, or a link.
        for display, block in zip(structured.get("displays", ()), result.content[1:], strict=False):
            if isinstance(block, ImageContent):
                display["data"] = base64.b64decode(block.data)
            elif isinstance(block, ResourceLink):
                display["data"] = await self.read_resource(str(block.uri))
        return read_as(RunResult, structured)

    async def read_file(self, session: str, path: str) -> bytes:
        """All of a session's file."""
        contents = b""
        offset: int | None = 0
        while offset is not None:
            given = {"session": session, "path": path, "offset": offset, "limit": _PART}
            result = await self._call("read_file", given)
            part = _structured(result)
            contents += _bytes_of(part, result)
            offset = part.get("next_offset")
        return contents

    async def read_resource(self, uri: str) -> bytes:
        """All of a resource."""
        parts: list[bytes] = []
        while True:
            parts.append(await self._read_part(uri, offset=_PART * len(parts)))
            # Characters are not cut in two, so that a part may have up to three bytes less.
            if len(parts[-1]) < _PART - 3:
                return b"".join(parts)

    async def _read_part(self, uri: str, *, offset: int) -> bytes:
        try:
            answer = await self._connected().read_resource(f"{uri}?offset={offset}&limit={_PART}")
        except mcp.MCPError as error:
            raise BelljarError(error.message) from error
        [contents] = answer.contents
        if isinstance(contents, BlobResourceContents):
            return base64.b64decode(contents.blob)
        return contents.text.encode()

    async def _call(
        self, tool: str, arguments: Mapping[str, object], on_output: Callable[[str], object] | None = None
    ) -> CallToolResult:
        async def told(progress: float, total: float | None, message: str | None) -> None:
            if on_output is not None and message and not _SIGN_OF_LIFE.fullmatch(message):
                on_output(message)

        given = {name: value for name, value in arguments.items() if value is not None}
        client = self._connected()
        try:
            # Without a listener the server need not tell.
            return await client.call_tool(tool, given, progress_callback=None if on_output is None else told)
        except mcp.MCPError as error:
            raise BelljarError(error.message) from error

    async def _log(self, params: LoggingMessageNotificationParams) -> None:
        if self._on_log is not None:
            self._on_log(params.level, params.data)

    def _connected(self) -> mcp.Client:
        if self._client is None:
            raise BelljarError("there is no server: use `async with Belljar() as sandbox`")
        return self._client


def encoded(contents: str | bytes) -> dict[str, str]:
    """Contents of a file as tools take them."""
    if isinstance(contents, str):
        return {"text": contents}
    return {"base64": base64.b64encode(contents).decode()}


def read_as(kind: type[T], structured: object) -> T:
    """A result of a tool's, in its own type."""
    # They take milliseconds to make.
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    value: T = _ADAPTERS[kind].validate_python(structured)
    return value


def _bytes_of(part: Mapping[str, Any], result: CallToolResult) -> bytes:
    """Of an answer of `read_file`, where a whole picture is a content block."""
    if "text" in part:
        return str(part["text"]).encode()
    if "base64" in part:
        return base64.b64decode(part["base64"])
    [image] = (block for block in result.content if isinstance(block, ImageContent))
    return base64.b64decode(image.data)


def _structured(result: CallToolResult) -> dict[str, Any]:
    """What has no structure is a refusal, or the server's failure, in words."""
    if result.structured_content is not None:
        return dict(result.structured_content)
    text = _text(result)
    if text.startswith(_REFUSAL):
        raise Refused(text.removeprefix(_REFUSAL))
    raise BelljarError(text)


def _text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def _unwrapped(error: BaseException) -> BaseException:
    """Task groups wrap what their parts raise."""
    parts: Sequence[BaseException] = getattr(error, "exceptions", ())
    return _unwrapped(parts[0]) if len(parts) == 1 else error
