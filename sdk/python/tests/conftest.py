"""The program that tests run is the one that `BELLJAR_BIN` names."""

import os
from collections.abc import Iterator

import pytest

from belljar import SyncBelljar

BELLJAR = os.environ["BELLJAR_BIN"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SyncBelljar]:
    """One server for all that do not mind."""
    with SyncBelljar() as sandbox:
        yield sandbox
