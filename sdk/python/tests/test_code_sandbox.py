"""`code_sandbox` answers as mcp-run-python's does."""

from typing import Any

import pytest

from belljar import BelljarError, code_sandbox

pytestmark = pytest.mark.anyio

CELLS: list[tuple[str, dict[str, Any] | None, dict[str, Any]]] = [
    ("print(1+1)", None, {"status": "success", "output": ["2"], "return_value": None}),
    ("x=1", None, {"status": "success", "output": [], "return_value": None}),
    ("6*7", None, {"status": "success", "output": [], "return_value": 42}),
    ('"a string"', None, {"status": "success", "output": [], "return_value": "a string"}),
    ("x*2", {"x": 21}, {"status": "success", "output": [], "return_value": 42}),
    ("2**100", None, {"status": "success", "output": [], "return_value": 2**100}),
    ("import asyncio\nawait asyncio.sleep(0.01)\n[1]", None, {"status": "success", "output": [], "return_value": [1]}),
    # What comes before it does not stay.
    ("'x' in globals()", None, {"status": "success", "output": [], "return_value": False}),
    ("print('a', end='')", None, {"status": "success", "output": ["a"], "return_value": None}),
    (
        'print("before")\n1/0',
        None,
        {
            "status": "run-error",
            "output": ["before"],
            "error": 'Traceback (most recent call last):\n  File "main.py", line 2, in <module>\n'
            "    1/0\n    ~^~\nZeroDivisionError: division by zero\n",
        },
    ),
    (
        "def f(:",
        None,
        {
            "status": "run-error",
            "output": [],
            "error": 'Traceback (most recent call last):\n  File "main.py", line 1\n'
            "    def f(:\n          ^\nSyntaxError: invalid syntax\n",
        },
    ),
]

# Values that are no plain data, and what pydantic makes of them.
VALUES = """
import collections, dataclasses, datetime, decimal, uuid

@dataclasses.dataclass
class Point:
    x: int
    y: set

[
    Point(1, {2}), (i for i in range(2)), collections.deque([1]), {(1, 2): None, 3: b"ascii"},
    datetime.date(2025, 3, 18), datetime.timedelta(days=1, seconds=90), datetime.timedelta(seconds=-0.5),
    decimal.Decimal("1.10"), uuid.UUID(int=1), 1 + 2j, print,
]
"""
PLAIN = [
    {"x": 1, "y": [2]},
    [0, 1],
    [1],
    {"1,2": None, "3": "ascii"},
    "2025-03-18",
    "P1DT1M30S",
    "-PT0.5S",
    "1.10",
    "00000000-0000-0000-0000-000000000001",
    "1+2j",
    "<built-in function print>",
]


async def test_code_gives_what_it_gave() -> None:
    async with code_sandbox() as sandbox:
        for code, variables, expected in CELLS:
            assert await sandbox.eval(code, variables) == expected, code


async def test_values_are_written_as_pydantic_does() -> None:
    async with code_sandbox() as sandbox:
        assert await sandbox.eval(VALUES) == {"status": "success", "output": [], "return_value": PLAIN}


async def test_the_log_handler_hears_each_line() -> None:
    heard: list[tuple[str, str]] = []
    async with code_sandbox(log_handler=lambda level, line: heard.append((level, line))) as sandbox:
        await sandbox.eval("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')")
    assert heard == [("info", "a"), ("warning", "b"), ("info", "c")]


async def test_lines_are_in_the_order_of_their_printing() -> None:
    async with code_sandbox(allow_networking=False) as sandbox:
        code = "import sys\nfor n in range(3): print(n, file=[sys.stdout, sys.stderr][n % 2])"
        assert await sandbox.eval(code) == {"status": "success", "output": ["0", "1", "2"], "return_value": None}


async def test_a_dependency_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(BelljarError, match="does not answer"):
        async with code_sandbox(dependencies=["not a package!"]):
            pass
