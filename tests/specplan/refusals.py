"""The command lines of `refused/` with their messages, and of `said/` with what they print."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from specplan.main import main


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


def said(name: str) -> list[Any]:
    """Returns the words and the expectations of each case in a file of `said/`.

    A fact is the comment above its command lines. Indented below each line: what stdout says, or
    with `!` what stderr says, with `-` what neither says, with `=` a key of the JSON and its value.
    Words are compared without line breaks. `NAME = text` at the top is taken for `{NAME}`.
    """
    known = {"CONFIGS": str(Path(__file__).parents[2] / "docs" / "configs")}
    found: list[Any] = []
    fact = ""
    for line in (Path(__file__).with_name("said") / f"{name}.txt").read_text("utf-8").splitlines():
        text = line.strip()
        if line.startswith("# "):
            fact = text.removeprefix("# ")
        elif defined := re.fullmatch(r"([A-Z]+) = (.*)", line):
            known[defined[1]] = defined[2].format(**known)
        elif line.startswith(" "):
            found[-1].values[1].append(text)
        elif text:
            words = shlex.split(text.format(**known))
            found.append(pytest.param(words, [], id=f"{fact} {len(found)}"))
    return found


def assert_said(words: list[str], expected: list[str]) -> None:
    """Asserts what a command prints, in text and as JSON."""
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    stdout, stderr = (" ".join(each.split()) for each in (result.stdout, result.stderr))
    if any(each.startswith("= ") for each in expected):
        data = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
    for each in expected:
        mark, _, text = each.partition(" ")
        if mark == "!":
            assert text in stderr
        elif mark == "-":
            assert text not in f"{stdout} {stderr}"
        elif mark == "=":
            key, _, value = text.partition(" ")
            at = data
            for part in key.split("."):
                at = at[int(part) if isinstance(at, list) else part]
            wanted = json.loads(value)
            exact = wanted is None or isinstance(wanted, bool | str | list)
            assert at == (wanted if exact else pytest.approx(wanted, abs=5e-4)), key
        else:
            assert each in stdout
