"""Runs one of CPython's test modules (argument 1, a dotted name) without the tests named in the other arguments.

A name is as in a test's id behind the module's: `Class`, `Class.method`, or for a package `test_file.Class.method`. The value of the last
expression is what came of it.
"""

import importlib
import os
import sys
import unittest

from test import support

MESSAGE_LENGTH = 400


def main(name, excluded):
    # As `regrtest` does: a directory to write in, and no tests that want a network, a large disk or much time.
    os.mkdir("/tmp/cwd")
    os.chdir("/tmp/cwd")
    support.use_resources = {}
    try:
        module = importlib.import_module(name)
    except unittest.SkipTest as skip:
        return {"unavailable": str(skip)}
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromModule(module)
    unused = set(excluded)
    suite = without(suite, name, unused)
    result = unittest.TestResult()
    suite.run(result)
    return {
        "ran": result.testsRun,
        "skipped": len(result.skipped),
        "failures": [[ident(test), text[-MESSAGE_LENGTH:]] for test, text in [*result.failures, *result.errors]]
        + [[ident(test), "unexpected success"] for test in result.unexpectedSuccesses]
        + [["loading", text[-MESSAGE_LENGTH:]] for text in loader.errors],
        "unused": sorted(unused),
    }


def ident(test):
    return test.id()


def without(suite, name, unused, excluded=None):
    """The suite without tests that are excluded. Removes from `unused` each exclusion that had a use."""
    excluded = frozenset(unused) if excluded is None else excluded
    kept = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(without(test, name, unused, excluded))
            continue
        parts = test.id().removeprefix(name + ".").split(".")
        hits = excluded & {".".join(parts[: end + 1]) for end in range(len(parts))}
        unused -= hits
        if not hits:
            kept.addTest(test)
    return kept


main(sys.argv[1], sys.argv[2:])
