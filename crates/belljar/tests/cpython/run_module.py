"""Runs one of CPython's test modules. The value of the last expression is what came of it.

Arguments: the module's dotted name; what it may take for granted although WASI lacks it (`socket`, `subprocess`), with commas between;
then the tests to leave out, named as in a test's id behind the module's name: `Class`, `Class.method`, in a package `test_file.Class.method`.
"""

import importlib
import os
import sys
import unittest

from test import support

# The end of a traceback says what failed.
MESSAGE_LENGTH = 400


def main(name, granted, excluded):
    # As `regrtest` does: a directory to write in, and no tests that want a network, a large disk or much time.
    os.mkdir("/tmp/cwd")
    os.chdir("/tmp/cwd")
    support.use_resources = {}
    for feature in filter(None, granted.split(",")):
        setattr(support, f"has_{feature}_support", True)
    try:
        module = importlib.import_module(name)
    except unittest.SkipTest as skip:
        return {"unavailable": str(skip)}
    loader = unittest.TestLoader()
    unused = set(excluded)
    suite = without(loader.loadTestsFromModule(module), name, frozenset(excluded), unused)
    result = unittest.TestResult()
    suite.run(result)
    failures = [(test.id(), text) for test, text in [*result.failures, *result.errors]]
    failures += [(test.id(), "passed, and is expected to fail") for test in result.unexpectedSuccesses]
    failures += [("loading", text) for text in loader.errors]
    return {
        "ran": result.testsRun,
        "skipped": len(result.skipped),
        "failures": [[test, text[-MESSAGE_LENGTH:]] for test, text in failures],
        "unused": sorted(unused),
    }


def without(suite, name, excluded, unused):
    """The suite without tests that are excluded. Removes from `unused` each exclusion that was of use."""
    kept = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(without(test, name, excluded, unused))
            continue
        parts = test.id().removeprefix(name + ".").split(".")
        hits = excluded & {".".join(parts[: end + 1]) for end in range(len(parts))}
        unused -= hits
        if not hits:
            kept.addTest(test)
    return kept


main(sys.argv[1], sys.argv[2], sys.argv[3:])
