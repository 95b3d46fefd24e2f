"""The types of this package are those of the tools' own schemas."""

# pyright: reportPrivateUsage=false

from typing import Any, get_type_hints

import mcp
import pytest
from pydantic import TypeAdapter

from belljar import _client, _results, find_binary

pytestmark = pytest.mark.anyio

RESULTS: dict[str, type] = {
    "run_code": _results.RunResult,
    "install_packages": _results.InstalledPackages,
    "list_packages": _results.ListedPackages,
    "list_runtimes": _results.Runtimes,
    "configure_environment": _results.Environment,
    "get_environment": _results.Environment,
    "write_file": _results.WrittenFile,
    "list_files": _results.Listing,
    "list_sessions": _results.Sessions,
    "close_session": _results.Named,
    "fork_session": _results.Named,
    "save_session": _results.Named,
    "restore_session": _results.Named,
}

# What is named otherwise here, and what the tool does not know of.
OURS = {"timeout_ms": "timeout"}
BESIDE = {"on_output"}


async def test_results_and_options_have_the_fields_of_the_schemas() -> None:
    server = mcp.StdioServerParameters(command=str(find_binary()), args=["serve"])
    async with mcp.Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    for name, kind in RESULTS.items():
        assert fields(TypeAdapter(kind).json_schema()) == fields(tools[name].output_schema or {}), name
    # Not a type of ours: it comes back as bytes.
    assert set(tools) == {*RESULTS, "read_file"}
    options = set(tools["run_code"].input_schema["properties"]) - {"code", "session"}
    assert {OURS.get(name, name) for name in options} == set(get_type_hints(_client.RunOptions)) - BESIDE


def fields(schema: dict[str, Any]) -> Any:
    """Names of fields, as they lie in each other."""

    def of(part: dict[str, Any]) -> Any:
        if "$ref" in part:
            return of(schema["$defs"][part["$ref"].rsplit("/", 1)[-1]])
        if "items" in part:
            return of(part["items"])
        for choice in part.get("anyOf", []):
            if names := of(choice):
                return names
        # The bytes of a display are read from elsewhere.
        return {name: of(inner) for name, inner in part.get("properties", {}).items() if name != "data"}

    return of(schema)
