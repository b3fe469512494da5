"""What docs/planning.md shows is what the program prints."""

import re
import shlex
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from specplan.main import main

ROOT = Path(__file__).parents[2]
DOC = ROOT / "docs" / "planning.md"


def examples() -> list[tuple[str, str]]:
    """Returns (command, output) of every indented block that begins with a prompt."""
    found = []
    document = DOC.read_text(encoding="utf-8")
    for block in re.findall(r"(?m)(?:^    .*\n|^\n(?=    ))+", document):
        lines = textwrap.dedent(block).strip("\n").split("\n")
        if lines[0].startswith("$ specplan "):
            end = next(i for i, line in enumerate(lines) if not line.endswith("\\"))
            command = " ".join(line.rstrip("\\") for line in lines[: end + 1])
            found.append((command.removeprefix("$ specplan "), "\n".join(lines[end + 1 :])))
    return found


def test_the_document_has_examples() -> None:
    assert len(examples()) == 9


@pytest.mark.parametrize(
    ("command", "output"), examples(), ids=[command for command, _ in examples()]
)
def test_the_document_shows_real_output(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, shlex.split(command))
    assert result.exit_code == 0, result.stderr
    assert result.stdout.rstrip("\n") == output


def test_the_servers_flags_in_the_document_are_the_exported_ones() -> None:
    text = DOC.read_text(encoding="utf-8")
    for server in ("vllm", "sglang", "llama.cpp"):
        result = CliRunner().invoke(
            main, ["plan", "--alpha", "0.8", "--c", "0.05", "--gamma", "4", "--export", server]
        )
        assert result.stdout.strip() in text
