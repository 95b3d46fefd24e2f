"""Puts `bin/belljar` into the wheel, beside Python's scripts, if it is there. Without it the wheel is pure Python."""

import platform
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Program(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        program = Path(self.root) / "bin" / "belljar"
        if version == "editable" or not program.is_file():
            return
        build_data["shared_scripts"][str(program)] = "belljar"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_of(program)}"


def platform_of(program: Path) -> str:
    """The oldest system that it runs on: by the newest symbol of the C library that it asks for."""
    versions = re.findall(rb"\0GLIBC_2\.(\d+)\b", program.read_bytes())
    return f"manylinux_2_{max(map(int, versions))}_{platform.machine()}"
