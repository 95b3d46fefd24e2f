"""Drives belljar with a Python client, over both transports and in both eras of the protocol. Raises where an answer is wrong.

Usage: checks.py (mcp|fastmcp) BELLJAR URL TOKEN
"""

import asyncio
import os
import sys
from pathlib import Path

import fastmcp
import httpx2
import mcp
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.streamable_http import streamable_http_client
from mcp_types import PromptReference, ResourceTemplateReference

# Seconds. Much longer than anything takes, on a machine that has other things to do.
PATIENCE = 60

# What a guest can make large. JSON takes six bytes for each character of the first; a client takes a message of 1 MiB over HTTP, and one
# of 10 MiB on a line.
FLOODS = [
    "print('\\x01' * 2_000_000)",
    "for n in range(8): open(f'{n}.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(1_900_000))",
]


class Mcp(mcp.Client):
    """PyPI's `mcp`, the protocol's own."""

    @staticmethod
    def started(belljar):
        return mcp.StdioServerParameters(command=belljar, args=["serve"])

    @staticmethod
    def at(url, token):
        headers = {"Authorization": f"Bearer {token}"}
        return streamable_http_client(url, http_client=httpx2.AsyncClient(headers=headers, timeout=PATIENCE))

    async def tools(self):
        return (await self.list_tools()).tools

    async def call(self, tool, given, told=None):
        return await self.call_tool(tool, given, progress_callback=told)

    async def read(self, uri):
        return (await self.read_resource(uri)).contents

    async def values(self, reference, name, start):
        return (await self.complete(reference, {"name": name, "value": start})).completion.values


class FastMcp(fastmcp.Client):
    """PyPI's `fastmcp`."""

    @staticmethod
    def started(belljar):
        return StdioTransport(belljar, ["serve"], keep_alive=False)

    @staticmethod
    def at(url, token):
        return StreamableHttpTransport(url, auth=token)

    async def tools(self):
        return await self.list_tools()

    async def call(self, tool, given, told=None):
        result = await self.call_tool(tool, given, progress_handler=told, raise_on_error=False)
        # An object of a class made from the tool's schema; absent where the result does not fit.
        assert result.is_error or result.data is not None, result
        return result

    async def read(self, uri):
        return await self.read_resource(uri)

    async def values(self, reference, name, start):
        return (await self.complete(reference, {"name": name, "value": start})).values


async def main(name, belljar, url, token):
    client_class = {"mcp": Mcp, "fastmcp": FastMcp}[name]
    for mode in ["legacy", "auto"]:
        for transport in [client_class.started(belljar), client_class.at(url, token)]:
            async with client_class(transport, mode=mode) as client:
                for check in CHECKS:
                    print(mode, transport, check.__name__, file=sys.stderr)
                    await asyncio.wait_for(check(client), PATIENCE)
        await is_refused(client_class(client_class.at(url, "wrong"), mode=mode))


TOOLS = """
run_code install_packages list_packages list_runtimes configure_environment get_environment
write_file read_file list_files list_sessions close_session fork_session save_session restore_session
"""


async def programs_run(client):
    assert [tool.name for tool in await client.tools()] == TOOLS.split()
    for language, code in [("python", "print(6 * 7)"), ("javascript", "console.log(6 * 7)"), ("bash", "echo $((6 * 7))")]:
        result = await client.call("run_code", {"language": language, "code": code})
        content = result.structured_content
        assert not result.is_error, result
        assert (content["status"], content["exit_code"], content["stdout"]) == ("completed", 0, "42\n"), content


async def sessions_remember(client):
    await client.call("write_file", {"session": "client", "path": "a.csv", "text": "x\n1\n2\n"})
    cell = {"session": "client", "language": "python"}
    await client.call("run_code", cell | {"code": "rows = open('a.csv').read().split()"})
    result = await client.call("run_code", cell | {"code": "open('sum.txt', 'w').write(str(sum(map(int, rows[1:]))))"})
    assert [file["uri"] for file in result.structured_content["files"]] == ["session://client/files/sum.txt"], result
    [contents] = await client.read("session://client/files/sum.txt")
    assert contents.text == "3", contents
    read = await client.call("read_file", {"session": "client", "path": "sum.txt"})
    assert read.structured_content["text"] == "3", read
    assert not (await client.call("close_session", {"session": "client"})).is_error


async def runtimes_are_listed(client):
    listed = (await client.call("list_runtimes", {})).structured_content
    assert "python" in [entry["language"] for entry in listed["languages"]], listed


async def failures_are_results(client):
    for given, words in [
        ({"language": "python", "code": "1 / 0"}, "ZeroDivisionError: division by zero"),
        ({"language": "bash", "code": "kill -SEGV $$"}, "[crashed with SIGSEGV]"),
        ({"language": "bash", "code": "sleep 9", "timeout_ms": 100}, "[timed out after "),
        ({"cod": "1"}, "did you mean `code`"),
        ({"language": "klingon", "code": "1"}, "`klingon` is not a language belljar knows"),
    ]:
        result = await client.call("run_code", given)
        assert result.is_error and words in result.content[0].text, result


async def files_are_resources(client):
    result = await client.call("run_code", {"language": "bash", "code": "echo x,y > 'a b.csv'"})
    [link] = [block for block in result.content if block.type == "resource_link"]
    [contents] = await client.read(link.uri)
    assert (contents.text, contents.mime_type) == ("x,y\n", "text/csv"), contents


async def floods_do_no_harm(client):
    for code in FLOODS:
        result = await client.call("run_code", {"language": "python", "code": code})
        assert not result.is_error and result.structured_content["status"] == "completed", result
    await programs_run(client)


async def prompts_and_completions_help(client):
    prompt = await client.get_prompt("compute", {"question": "2 ** 100"})
    assert "2 ** 100" in prompt.messages[0].content.text, prompt
    for reference in [ResourceTemplateReference(uri="runtime://{language}"), PromptReference(name="test-code")]:
        assert await client.values(reference, "language", "pyt") == ["python"], reference


async def cancelling_ends_the_run(client):
    marker = f"client-{os.getpid()}"
    output = asyncio.Queue()

    async def told(_progress, _total, message):
        await output.put(message)

    given = {"language": "bash", "code": f"echo started; exec -a {marker} sleep 1000", "timeout_ms": 200_000}
    call = asyncio.create_task(client.call("run_code", given, told))
    assert await output.get() == "started\n"
    await until(lambda: goes_on(marker))
    call.cancel()
    await until(lambda: not goes_on(marker))
    await programs_run(client)


def goes_on(marker):
    def arguments(process):
        try:
            return (process / "cmdline").read_text(errors="replace")
        except OSError:
            return ""

    return any(arguments(process).startswith(marker) for process in Path("/proc").glob("[0-9]*"))


async def until(condition):
    while not condition():
        await asyncio.sleep(0.02)


async def is_refused(client):
    try:
        async with client:
            pass
    except Exception as error:
        # Tasks wrap what their parts raise.
        while hasattr(error, "exceptions"):
            [error] = error.exceptions
        # The server's answer, where other failures are those of the connection.
        assert isinstance(error, mcp.MCPError), repr(error)
    else:
        raise AssertionError("a wrong token opens the door")


CHECKS = [
    programs_run,
    sessions_remember,
    runtimes_are_listed,
    failures_are_results,
    files_are_resources,
    floods_do_no_harm,
    prompts_and_completions_help,
    cancelling_ends_the_run,
]

asyncio.run(main(*sys.argv[1:]))
