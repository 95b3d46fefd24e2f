"""Finding the program `belljar`."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from ._errors import BinaryNotFound

VARIABLE = "BELLJAR_BIN"


def find_binary(binary: str | os.PathLike[str] | None = None) -> Path:
    """The program: `binary`, else what `BELLJAR_BIN` names, else what this package brought, else what is on `PATH`.

    Raises `BinaryNotFound` where there is none. What was named and is not there is not passed over.
    """
    named = binary or os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise BinaryNotFound(f"`{os.fspath(named)}` is not a program; name `belljar` itself, or set `{VARIABLE}`")
        return Path(found)
    bundled = _bundled()
    if bundled is not None:
        return bundled
    found = shutil.which("belljar")
    if found is None:
        raise BinaryNotFound(
            f"there is no `belljar` on PATH; install the wheel that has it (`pip install belljar`) or set `{VARIABLE}`"
        )
    return Path(found)


def _bundled() -> Path | None:
    """What the wheel put beside Python's other scripts: it is in the list of the package's own files."""
    try:
        files = distribution("belljar").files or []
    except PackageNotFoundError:
        return None
    for file in files:
        if file.name == "belljar" and file.parent.name == "bin":
            path = Path(str(file.locate())).resolve()
            return path if os.access(path, os.X_OK) else None
    return None
