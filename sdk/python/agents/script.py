"""What a model does in these tests: it keeps data in a session, makes a mistake, is told of it, and does better."""

import os
from typing import Any

BELLJAR = os.environ["BELLJAR_BIN"]

QUESTION = "What is the standard deviation of 3, 5 and 9?"

_CELL = {"session": "agent", "language": "python"}
CALLS: list[dict[str, Any]] = [
    _CELL | {"code": "data = [3, 5, 9]"},
    _CELL | {"code": "statistics.stdev(data)"},
    _CELL | {"code": "import statistics\nround(statistics.stdev(data), 3)"},
]
MISTAKE = "NameError: name 'statistics' is not defined"
ANSWER = "It is 3.055."
