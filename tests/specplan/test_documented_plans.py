"""Every plan that README and docs print is what `specplan plan` prints."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from specplan.main import main

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^    \$ specplan (plan .*)\n((?:    .*\n|\n)+)", re.MULTILINE)


def examples() -> list[tuple[str, str, str]]:
    """Returns file, arguments and printed output of each example that needs no file."""
    return [
        (path.name, arguments, re.sub("^    ", "", shown, flags=re.MULTILINE).rstrip())
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
        for arguments, shown in EXAMPLE.findall(path.read_text(encoding="utf-8"))
        if "config.json" not in arguments and not arguments.endswith("\\")
    ]


def test_there_are_examples() -> None:
    assert len(examples()) >= 4


@pytest.mark.parametrize(("file", "arguments", "shown"), examples())
def test_an_example_prints_what_is_shown(file: str, arguments: str, shown: str) -> None:
    result = CliRunner().invoke(main, shlex.split(arguments))
    assert result.exit_code == 0
    assert [line.rstrip() for line in result.stdout.rstrip().split("\n")] == shown.split("\n")
