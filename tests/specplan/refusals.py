"""The form of a refusal, and the command lines of `refused/` with their messages."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result


def assert_refused(result: Result, message: str) -> None:
    """Asserts one line that says why, nothing else, and exit status 2.

    A message that begins with `Error: ` is the whole line.
    """
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    if message.startswith("Error: "):
        assert result.stderr == f"{message}\n"


def refused(name: str) -> list[Any]:
    """Returns the words and the message of each case in a file of `refused/`.

    A case is a command line with its message below it; `a|b` means either command.
    """
    text = (Path(__file__).with_name("refused") / f"{name}.txt").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if line and not line.startswith("#")]
    return [
        pytest.param([command, *rest], message, id=shlex.join([command, *rest]))
        for asked, message in zip(lines[::2], lines[1::2], strict=True)
        for commands, *rest in [shlex.split(asked)]
        for command in commands.split("|")
    ]
