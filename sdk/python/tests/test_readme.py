"""What the README shows is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")

# Each program, and what is shown of its output.
EXAMPLES = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", README, re.DOTALL)


@pytest.mark.parametrize(("program", "shown"), EXAMPLES)
def test_example(program: str, shown: str, tmp_path: Path) -> None:
    # It need not be installed.
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True)
    # The server may have something to say on standard error.
    assert ran.returncode == 0, ran.stderr
    if shown:
        assert ran.stdout == shown
    else:
        assert "2 lines" in ran.stdout
