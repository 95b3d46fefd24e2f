"""One-shot runs."""

import asyncio
import time

import pytest

from belljar import Belljar, BelljarError, Refused, RunFailed, SyncBelljar

pytestmark = pytest.mark.anyio


def test_a_run_tells_what_happened(sandbox: SyncBelljar) -> None:
    result = sandbox.run("echo out; echo err >&2; exit 3", language="bash")
    assert (result.status, result.exit_code, result.stdout, result.stderr) == ("completed", 3, "out\n", "err\n")
    assert (result.engine, result.runtime.language, result.isolation.missing) == ("native", "bash", ())
    assert not result.ok and result.usage.wall_ms > 0


def test_options_reach_the_program(sandbox: SyncBelljar) -> None:
    result = sandbox.run(
        'cat; echo "$1 $NAME"; cat folder/text; od -An -tx1 bytes',
        language="bash",
        stdin="input\n",
        args=["argument"],
        env={"NAME": "value"},
        files={"folder/text": "ä\n", "bytes": b"\x00\xff"},
    )
    assert result.stdout == "input\nargument value\nä\n 00 ff\n"


def test_failed_code_is_a_result_until_it_is_checked(sandbox: SyncBelljar) -> None:
    assert sandbox.run("echo fine", language="bash").check().stdout == "fine\n"
    result = sandbox.run("raise ValueError('no')", language="python")
    assert result.error is not None and (result.error.kind, result.error.line) == ("ValueError", 1)
    with pytest.raises(RunFailed, match="exit code 1; ValueError: no") as failed:
        result.check()
    assert failed.value.result is result


def test_limits_end_a_run(sandbox: SyncBelljar) -> None:
    assert sandbox.run("sleep 60", language="bash", timeout=0.2).describe() == "timed_out"
    assert sandbox.run("kill -SEGV $$", language="bash").describe() == "crashed: SIGSEGV"


def test_a_refusal_says_what_would_work(sandbox: SyncBelljar) -> None:
    with pytest.raises(Refused, match=r"`klingon` is not a language belljar knows\. Hint: use one of python"):
        sandbox.run("1", language="klingon")


def test_files_that_a_run_made_can_be_read(sandbox: SyncBelljar) -> None:
    # Longer than one message, and bytes that look like the middle of characters wherever it is cut.
    made = sandbox.run("head -c 2500000 /dev/zero | tr '\\0' '\\200' > 'a b.bin'; printf ü > text", language="bash")
    sizes = {file.path: file.size for file in made.files}
    assert sizes == {"a b.bin": 2_500_000, "text": 2}
    contents = {file.path: sandbox.read(file) for file in made.files}
    assert contents == {"a b.bin": b"\x80" * 2_500_000, "text": "ü".encode()}


def test_output_that_a_result_has_no_room_for_can_be_read(sandbox: SyncBelljar) -> None:
    result = sandbox.run("seq 400000", language="bash")
    assert result.dropped.stdout > 0
    everything = "".join(f"{number}\n" for number in range(1, 400_001))
    assert sandbox.read(f"run://{result.run}/stdout").decode() == everything


def test_a_sandbox_tells_what_it_has(sandbox: SyncBelljar) -> None:
    runtimes = sandbox.runtimes()
    [bash] = [entry for entry in runtimes.languages if entry.language == "bash"]
    assert bash.engines == ("native",) and runtimes.network == "none"
    assert runtimes.defaults.timeout_ms <= runtimes.ceilings.timeout_ms
    assert sandbox.environment().type == "host"
    assert sandbox.packages(["no-such-package"]).missing == ("no-such-package",)


def test_what_is_not_there_is_an_error(sandbox: SyncBelljar) -> None:
    with pytest.raises(BelljarError, match="there is no resource `run://nope/stdout"):
        sandbox.read("run://nope/stdout")


async def test_runs_go_on_side_by_side_and_hear_their_own_output() -> None:
    async with Belljar() as sandbox:

        async def one(name: str) -> tuple[str, str]:
            heard: list[str] = []
            # Not all of it need be told before the end, so it waits.
            code = f"echo {name}; sleep 5"
            result = await sandbox.run(code, language="bash", on_output=heard.append)
            return result.stdout, "".join(heard)

        begun = time.monotonic()
        names = ["a", "b", "c", "d"]
        assert await asyncio.gather(*map(one, names)) == [(f"{name}\n", f"{name}\n") for name in names]
        assert time.monotonic() - begun < 4 * len(names)


async def test_signs_of_life_are_no_output() -> None:
    async with Belljar() as sandbox:
        heard: list[str] = []
        await sandbox.run("sleep 5.3", language="bash", on_output=heard.append)
        assert heard == []
