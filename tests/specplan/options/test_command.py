"""Options to records: each stated option is read or refused, and said once."""

from collections.abc import Callable
from dataclasses import dataclass, field

import click
import pytest
from click.testing import CliRunner

from estimator.progress import Notice, heard, notice
from specplan.options.command import Command, fill, reads


@dataclass(frozen=True)
class Models:
    target: str = "own"
    drafts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    gamma: int
    models: Models = field(default_factory=Models)
    max_gamma: int | None = None


@dataclass(frozen=True)
class Beams:
    beams: int | None = None


@dataclass(frozen=True)
class Shown:
    as_json: bool = False


@reads(Request, Shown)
def own(request: Request, shown: Shown) -> None:
    notice("on we go")
    click.echo(f"{request} {shown}")


@reads(Beams)
def beams(request: Beams) -> None:
    click.echo(f"{request}")


@click.command("try", cls=Command, ways={"--decoder beam": beams, "": own})
@click.option("--decoder", default="speculative")
@click.option("--target", default="own")
@click.option("--draft", "drafts", multiple=True)
@click.option("--gamma", type=int, default=4)
@click.option("--max-gamma", type=int, default=16)
@click.option("--beams", type=int)
@click.option("--compile", "compiling", is_flag=False, flag_value="on", default="off")
@click.option("--json", "as_json", is_flag=True)
def command(**_options: object) -> None: ...


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def invoke() -> Run:
    def run_with(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(command, arguments)
        return result.exit_code, result.output.removeprefix("Warning: on we go\n")

    return run_with


def test_records_are_filled_by_name_and_nested(invoke: Run) -> None:
    request = Request(gamma=2, models=Models("t", ("a", "b")))
    stated = ("--target", "t", "--draft", "a", "--draft", "b", "--gamma", "2", "--json")
    assert invoke(*stated) == (0, f"{request} {Shown(True)}\n")


def test_defaults_come_from_the_record_else_from_the_option(invoke: Run) -> None:
    assert invoke() == (0, f"{Request(gamma=4)} {Shown()}\n")


def test_notices_of_a_run_are_printed_as_warnings() -> None:
    assert CliRunner().invoke(command, []).stderr == "Warning: on we go\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--compile",), "--compile cannot be given with try"),
        (("--beams", "2"), "--beams needs --decoder beam"),
        (("--decoder", "beam", "--gamma", "4"), "--gamma cannot be given with --decoder beam"),
        (("--gamma", "1", "--gamma", "1"), "--gamma must be given once, got 2"),
        (("--compile", "--compile", "try"), "--compile must be given once, got 2"),
    ],
)
def test_other_options_are_refused_by_name(
    arguments: tuple[str, ...], message: str, invoke: Run
) -> None:
    status, said = invoke(*arguments)
    assert status == 2
    assert message in said


def test_a_flag_may_be_repeated(invoke: Run) -> None:
    assert invoke("--json", "--json") == invoke("--json")


def test_fill_without_ways_names_the_command() -> None:
    alone = click.Command("alone", params=[click.Option(["--beams"])])
    with pytest.raises(click.UsageError, match=r"--beams cannot be given with alone"):
        fill(alone.make_context("alone", ["--beams", "2"]), [Shown])


def test_notices_go_to_the_innermost_listener_and_else_to_python() -> None:
    outer, inner = list[str](), list[str]()
    with heard(lambda text, _: outer.append(text)):
        with heard(lambda text, _: inner.append(text)):
            notice("one")
        notice("two")
    assert (inner, outer) == (["one"], ["two"])
    with pytest.warns(Notice, match="three"):
        notice("three")
