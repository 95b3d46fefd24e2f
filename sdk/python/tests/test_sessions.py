"""Sessions: what stays between calls, and their files and pictures."""

import base64
import os

import pytest

from belljar import Refused, SyncBelljar, SyncSession

# A picture of one pixel, as base64.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

SHOWS = f"""
import base64

class Plot:
    def _repr_png_(self):
        return base64.b64decode("{PIXEL}")

    def _repr_html_(self):
        return "<b>plot</b>"

Plot()
"""


def value(session: SyncSession, code: str) -> object:
    return session.run(code, language="python").check().result


def test_variables_stay_until_it_is_closed(sandbox: SyncBelljar) -> None:
    with sandbox.session("variables") as session:
        session.run("x = [1, 2]", language="python", variables={"y": {"z": None}})
        assert value(session, "x + [y]") == [1, 2, {"z": None}]
        [listed] = sandbox.sessions()
        assert (listed.session, listed.languages, listed.state) == ("variables", ("python",), "idle")
    assert sandbox.sessions() == ()
    # Closing what is not there is no harm at the end of a block.
    with sandbox.session("unused"):
        pass
    with pytest.raises(Refused, match="there is no session `unused`"):
        sandbox.session("unused").close()


def test_a_cell_that_takes_too_long_loses_nothing(sandbox: SyncBelljar) -> None:
    with sandbox.session("slow") as session:

        def found() -> object:
            session.run("x = 1", language="python")
            assert session.run("while True: pass", language="python", timeout=0.3).status == "timed_out"
            return session.run("x", language="python").result

        # A busy machine may keep a cell from listening in time, but not every time.
        assert any(found() == 1 for _ in range(4))


def test_files_are_written_read_and_listed(sandbox: SyncBelljar) -> None:
    with sandbox.session("files") as session:
        large = bytes(range(256)) * 12_000
        assert session.write_file("data/large.bin", large).size == len(large)
        session.write_file("notes.txt", "one ü\n")
        assert session.write_file("notes.txt", "two\n", append=True).size == len("one ü\ntwo\n".encode())
        assert session.read_file("data/large.bin") == large
        assert session.read_file("notes.txt").decode() == "one ü\ntwo\n"
        listing = session.list_files()
        assert [(entry.path, entry.kind) for entry in listing.files] == [
            ("data", "folder"),
            ("data/large.bin", "file"),
            ("notes.txt", "file"),
        ]
        assert [entry.size for entry in session.list_files("data").files] == [len(large)]
        made = session.run("open('sum.txt', 'w').write('3')", language="python").files
        assert [sandbox.read(file) for file in made] == [b"3"]
        with pytest.raises(Refused, match=r"`nope\.txt`"):
            session.read_file("nope.txt")


def test_what_code_shows_comes_back_as_bytes(sandbox: SyncBelljar) -> None:
    pixel = base64.b64decode(PIXEL)
    with sandbox.session("pictures") as session:
        result = session.run(SHOWS, language="python").check()
        assert [(display.mime, display.data) for display in result.displays] == [
            ("image/png", pixel),
            ("text/html", b"<b>plot</b>"),
        ]
        assert [image.data for image in result.images] == [pixel]
        # A picture's file comes another way than other files.
        session.write_file("pixel.png", pixel)
        assert session.read_file("pixel.png") == pixel


@pytest.mark.skipif("BELLJAR_CACHE" not in os.environ, reason="needs JavaScript in WebAssembly")
def test_a_session_is_copied_saved_and_restored(sandbox: SyncBelljar) -> None:
    def count(session: SyncSession) -> object:
        return session.run("n += 1; n", language="javascript", engine="wasm").check().result

    with sandbox.session("original") as original:
        original.run("var n = 0", language="javascript", engine="wasm").check()
        with original.fork("copy") as copy:
            assert [count(copy), count(copy), count(original)] == [1, 2, 1]
        original.save("python-sdk")
    with sandbox.session("again").restore("python-sdk") as again:
        assert count(again) == 2
