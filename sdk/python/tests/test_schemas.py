"""The types of this package are those of the tools' own schemas."""

# pyright: reportPrivateUsage=false

import re
from typing import Any, get_type_hints

import mcp
import pytest
from pydantic import TypeAdapter

from belljar import SyncBelljar, _client, _results, find_binary
from belljar._connection import read_as

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
        ours, theirs = TypeAdapter(kind).json_schema(), tools[name].output_schema or {}
        assert fields(ours) == fields(theirs), name
        told = words(theirs)
        # Not all of the server's descriptions name the words.
        known = {field: known for field, known in words(ours).items() if field in told}
        assert known == {field: told[field] for field in known}, name
        assert name != "run_code" or {".status", ".state", ".engine"} <= set(known)
    # Not a type of ours: it comes back as bytes.
    assert set(tools) == {*RESULTS, "read_file"}
    options = set(tools["run_code"].input_schema["properties"]) - {"code", "session"}
    assert {OURS.get(name, name) for name in options} == set(get_type_hints(_client.RunOptions)) - BESIDE


def test_no_word_of_the_servers_loses_a_result(sandbox: SyncBelljar) -> None:
    told = sandbox.call("run_code", code="echo 1", language="bash")
    for state in ("lost", "gone", "of a newer server"):
        result = read_as(_results.RunResult, {**told, "state": state})
        assert (result.state, result.stdout) == (state, "1\n")
    newer = read_as(_results.RunResult, {**told, "status": "paused", "exit_code": None, "engine": "other"})
    assert (newer.describe(), newer.engine, newer.ok) == ("paused", "other", False)


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


def words(schema: dict[str, Any]) -> dict[str, set[str]]:
    """Words that a field can have, where the schema lists them or says them: "`lost` when …", "idle or busy"."""
    found: dict[str, set[str]] = {}

    def look(part: dict[str, Any], place: str) -> None:
        description: str = part.get("description", "")
        said = re.findall(r"`(\w+)`", description)
        if not said and re.fullmatch(r"\w+(, \w+)* or \w+", description):
            said = re.split(", | or ", description)
        if listed := part.get("enum", [part["const"]] if "const" in part else said):
            found[place] = set(listed)
        if "$ref" in part:
            look(schema["$defs"][part["$ref"].rsplit("/", 1)[-1]], place)
        for choice in [*part.get("anyOf", []), *([part["items"]] if "items" in part else [])]:
            look(choice, place)
        for name, inner in part.get("properties", {}).items():
            look(inner, f"{place}.{name}")

    look(schema, "")
    return found
