"""Runs files of NumPy's tests with pytest. The value of the last expression is what came of it.

Arguments: the files, from `numpy/` on; then, each behind a `-`, tests to leave out: `FILE::Class::method`, or less of it.
"""

import importlib
import os
import sys

# The end of a traceback says what failed.
MESSAGE_LENGTH = 400
# C modules that NumPy builds for its tests alone. Tests that call into them are skipped.
NOT_BUILT = ["_multiarray_tests", "_operand_flag_tests", "_rational_tests", "_struct_ufunc_tests", "_umath_tests"]
OPTIONS = ["-c", "/dev/null", "--rootdir=/box", "--basetemp=/tmp/pytest", "--import-mode=importlib", "--capture=sys", "-W", "ignore"]
# What pytest brings that wants a terminal, threads or a cache on the disk.
WITHOUT = ["cacheprovider", "faulthandler", "terminal", "terminalreporter", "threadexception", "unraisableexception"]

sys.path[:0] = [f"/box/wheels/{name}" for name in os.listdir("/box/wheels")]

import numpy  # noqa: E402
import pytest  # noqa: E402


class NotBuilt(type(sys)):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **named: pytest.skip(f"needs {self.__name__}")


class Tally:
    def __init__(self, excluded):
        self.excluded, self.unused = excluded, set(excluded)
        self.passed, self.skipped, self.failures = {}, 0, []

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if not self.excludes(item.nodeid)]

    def excludes(self, name):
        hits = {one for one in self.excluded if name == one or name.startswith((one + "::", one + "["))}
        self.unused -= hits
        return bool(hits)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failures.append([report.nodeid, str(report.longrepr)[-MESSAGE_LENGTH:]])
        elif report.skipped:
            self.skipped += 1
        elif report.when == "call":
            file = report.nodeid.split("::")[0]
            self.passed[file] = self.passed.get(file, 0) + 1

    def pytest_collectreport(self, report):
        if report.failed or report.skipped and "needs _" not in str(report.longrepr):
            self.failures.append([report.nodeid, str(report.longrepr)[-MESSAGE_LENGTH:]])


def main(arguments):
    files = [argument for argument in arguments if not argument.startswith("-")]
    tally = Tally(frozenset(argument[1:] for argument in arguments if argument.startswith("-")))
    for name in NOT_BUILT:
        sys.modules[f"numpy._core.{name}"] = NotBuilt(name)
        setattr(numpy._core, name, sys.modules[f"numpy._core.{name}"])
    # The tests are beside the packages, not in them. pytest takes a module's name from the folders that look like packages.
    for package in os.listdir("/box/numpy"):
        if package != "tests":
            importlib.import_module(f"numpy.{package}").__path__.append(f"/box/numpy/{package}")
            open(f"/box/numpy/{package}/__init__.py", "x").close()
    numpy.__path__.append("/box/numpy")
    open("/box/numpy/__init__.py", "x").close()
    os.makedirs("/tmp/cwd")
    os.chdir("/tmp/cwd")
    without = [word for plugin in WITHOUT for word in ("-p", f"no:{plugin}")]
    pytest.main([*OPTIONS, *without, *(f"/box/{file}" for file in files)], plugins=[tally])
    return {"passed": tally.passed, "skipped": tally.skipped, "failures": tally.failures, "unused": sorted(tally.unused)}


main(sys.argv[1:])
