"""Beginning and end: of the server, and of runs that nobody waits for any more."""

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from belljar import Belljar, BelljarError, BinaryNotFound, SyncBelljar, __version__, find_binary

pytestmark = pytest.mark.anyio

# Much longer than anything takes, on a machine that has other things to do.
PATIENCE = 20.0


def marked(name: str) -> str:
    """Code that says when it has started, and goes on for long."""
    return f"echo started; exec -a {marker(name)} sleep 1000"


def marker(name: str) -> str:
    return f"sdk-{name}-{os.getpid()}"


def goes_on(name: str) -> bool:
    """Whether code that was marked with the name runs. The host sees processes of a sandbox."""

    def arguments(process: Path) -> bytes:
        try:
            return (process / "cmdline").read_bytes()
        except OSError:
            return b""

    return any(arguments(process).startswith(marker(name).encode()) for process in Path("/proc").glob("[0-9]*"))


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


async def test_cancelling_a_task_ends_its_run() -> None:
    async with Belljar() as sandbox:
        run = asyncio.create_task(sandbox.run(marked("task"), language="bash", timeout=200))
        await asyncio.to_thread(until, lambda: goes_on("task"))
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await asyncio.to_thread(until, lambda: not goes_on("task"))
        assert (await sandbox.run("echo on", language="bash")).stdout == "on\n"


def test_cancelling_a_future_ends_its_run(sandbox: SyncBelljar) -> None:
    started = threading.Event()
    run = sandbox.start(marked("future"), language="bash", timeout=200, on_output=lambda _text: started.set())
    assert started.wait(PATIENCE)
    until(lambda: goes_on("future"))
    assert run.cancel()
    until(lambda: not goes_on("future"))


def test_an_interrupt_ends_the_run_that_is_waited_for(sandbox: SyncBelljar) -> None:
    def interrupt(_text: str) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    # What a shell starts in the background ignores it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            sandbox.run(marked("interrupt"), language="bash", timeout=200, on_output=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
    until(lambda: not goes_on("interrupt"))
    assert sandbox.run("echo on", language="bash").stdout == "on\n"


async def test_leaving_the_block_ends_everything_and_passes_the_exception_on() -> None:
    sandbox = Belljar()
    with pytest.raises(ValueError, match="mine"):
        async with sandbox:
            running = asyncio.create_task(sandbox.run(marked("left"), language="bash", timeout=200))
            running.add_done_callback(lambda task: task.exception())
            await asyncio.to_thread(until, lambda: goes_on("left"))
            raise ValueError("mine")
    await asyncio.to_thread(until, lambda: not goes_on("left"))
    with pytest.raises(BelljarError, match="use `async with Belljar"):
        await sandbox.run("1")


def test_a_sandbox_that_is_not_open_says_so() -> None:
    with pytest.raises(BelljarError, match="use `with SyncBelljar"):
        SyncBelljar().run("1")


def test_a_program_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(BelljarError, match="`/bin/false serve` does not answer"), SyncBelljar(binary="/bin/false"):
        pass


def test_options_of_the_server_are_passed_on() -> None:
    with SyncBelljar(args=["--sessions-per-caller", "1"]) as sandbox:
        sandbox.session("one").write_file("a", "")
        with pytest.raises(BelljarError, match="1 session"):
            sandbox.session("two").write_file("a", "")


def test_the_program_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = Path(os.environ["BELLJAR_BIN"])
    assert find_binary() == there
    assert find_binary("/bin/true") == Path("/bin/true")
    with pytest.raises(BinaryNotFound, match=r"`/nope` is not a program; .*BELLJAR_BIN"):
        find_binary("/nope")
    monkeypatch.delenv("BELLJAR_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BinaryNotFound, match="pip install belljar"):
        find_binary()
    (tmp_path / "belljar").symlink_to(there)
    assert find_binary() == tmp_path / "belljar"


def test_program_and_package_have_one_version() -> None:
    said = subprocess.run([os.environ["BELLJAR_BIN"], "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"belljar {__version__}\n"
