"""What can go wrong. Code that fails is none of it: that is a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._results import RunResult


class BelljarError(RuntimeError):
    """Belljar could not do what was asked, and not because of the code."""


class BinaryNotFound(BelljarError):
    """There is no program `belljar`."""


class Refused(BelljarError):
    """The request was not accepted. The message says what was wrong and what would work."""


class RunFailed(BelljarError):
    """The code did not complete with exit code 0. Raised by `RunResult.check` only."""

    result: RunResult

    def __init__(self, result: RunResult) -> None:
        super().__init__(result.describe())
        self.result = result
