"""What componentize-py makes a component of: runs a program, and gives what it printed."""

import contextlib
import io
import traceback

import wit_world


class WitWorld(wit_world.WitWorld):
    def run(self, code: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(code, {"__name__": "__main__"})
            except BaseException:
                printed.write(traceback.format_exc())
        return printed.getvalue()
