"""Options as fields: their names, types and defaults, and which of them a command has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from specplan.options.declared import Option, Whole, declared, option, rare, takes


class Shared:
    """Options of several commands.

    max_gamma: Longest draft, of those that
      are run.  [default: a few]
    """

    max_gamma: int = option(default=8)
    wide: bool = option(help="All columns.")


@dataclass(frozen=True)
class Base:
    """A record with an option."""

    near: float | None = option(callback=lambda ctx, param, value: value + 1)


@dataclass(frozen=True)
class Record(Base):
    """A record with options of its own."""

    output: Path | None = option("-o", "--output")
    lenience: float | None = rare(metavar="L")
    text: str | None = option("--some-text")


def params(*decorators: Any) -> dict[str, Option]:
    """Returns the options of a command, by name, in its order."""

    def command(**_: object) -> None: ...

    for decorate in reversed(decorators):
        command = decorate(command)
    return {str(each.name): each for each in click.command()(command).params}  # type: ignore[misc]


def test_a_field_names_its_option_and_says_its_type() -> None:
    found = params(takes(Record, Shared))
    assert list(found) == ["output", "lenience", "text", "near", "max_gamma", "wide"]
    assert [each.opts for each in found.values()] == [
        ["-o", "--output"], ["--lenience"], ["--some-text"], ["--near"], ["--max-gamma"], ["--wide"]
    ]  # fmt: skip
    assert isinstance(found["output"].type, click.Path)
    assert found["output"].type.type is Path
    assert [found[name].type for name in ("lenience", "near")] == [click.FLOAT, click.FLOAT]
    assert found["text"].type is click.STRING
    assert (type(found["max_gamma"].type), found["max_gamma"].default) == (Whole, 8)
    assert found["wide"].is_flag
    # The help is in the docstring of the class, or stated.
    assert found["max_gamma"].help == "Longest draft, of those that are run.  [default: a few]"
    assert (found["wide"].help, found["near"].help) == ("All columns.", None)
    assert Record() == Record(near=None, output=None, lenience=None, text=None)


def test_rare_options_are_advanced_for_all_commands_or_for_one() -> None:
    found = params(takes(Record, Shared, rare=("wide",), heading="Form"))
    assert [name for name, each in found.items() if each.advanced] == ["lenience", "wide"]
    assert {each.heading for each in found.values()} == {"Form"}


def test_an_option_comes_once_and_can_be_left_out() -> None:
    found = params(takes(Shared, without=("wide",), heading="Upper"), takes(Record, Shared))
    assert list(found) == ["output", "lenience", "text", "near", "max_gamma", "wide"]
    assert found["max_gamma"].heading is None
    assert list(params(takes(Shared, without=("max_gamma",)))) == ["wide"]


@pytest.mark.parametrize(("words", "value"), [([], "None"), (["--near", "2"], "3.0")])
def test_a_callback_gets_only_stated_values(words: list[str], value: str) -> None:
    @click.command()
    @takes(Base)
    def command(near: float | None) -> None:
        click.echo(near if near is not None else "None")

    assert CliRunner().invoke(command, words).output == f"{value}\n"


def test_an_option_of_another_class_keeps_its_type() -> None:
    found = params(takes(Base))

    class Again:
        """The same option once more."""

        near = declared(Base)["near"]

    assert params(takes(Again))["near"].type is found["near"].type is click.FLOAT
