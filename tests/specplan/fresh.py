"""Command lines run by an interpreter that has imported nothing yet."""

import subprocess
import sys
from pathlib import Path


def modules_after(*lines: str, folder: Path | None = None) -> tuple[set[str], str]:
    """Returns the modules that command lines imported in a fresh interpreter, and their output."""
    code = f"""
import sys
from specplan.main import main
for line in {lines!r}:
    try:
        main(line.split())
    except SystemExit as end:
        assert not end.code, end.code
print(*sys.modules, file=sys.stderr)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return set(ended.stderr.split()), ended.stdout
