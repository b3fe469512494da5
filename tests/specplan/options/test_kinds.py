"""Ways to state a cost or an acceptance: each option is read, or refused with a reason."""

import itertools
from dataclasses import dataclass
from typing import Any

import click
import pytest
from click.testing import CliRunner

from specplan.commands.plan import plan_command
from specplan.options.command import Command, option_name
from specplan.options.declared import option, takes
from specplan.options.kinds import Kind, acceptance_kinds, chosen, cost_kinds

OPTIONS = {param.name: option_name(param) for param in plan_command.params}


@dataclass(frozen=True)
class Eggs(Kind, order=1, needs=("eggs",)):
    eggs: int | None = option("--eggs", type=int)
    boiled: bool = option("--boiled", is_flag=True, default=False)


@dataclass(frozen=True)
class Ham(Kind, order=2, needs=("ham", "slices"), instead={"slices": ("loaf",)}):
    ham: int | None = option("--ham", type=int)
    slices: int | None = option("--slices", type=int)
    loaf: int | None = option("--loaf", type=int)


WAYS = [Eggs, Ham]


def choice(arguments: str) -> str:
    """Returns the record of the way that is chosen, or the refusal."""

    @click.command(cls=Command)
    @takes(Eggs, Ham)
    @click.pass_context
    def command(ctx: click.Context, /, **_: object) -> None:
        click.echo(chosen(WAYS, ctx, what="meal").__name__)

    result = CliRunner().invoke(command, arguments.split())
    return result.output.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("--eggs 2", "Eggs"),
        ("--eggs 2 --boiled", "Eggs"),
        ("--ham 1 --slices 3", "Ham"),
        ("--ham 1 --loaf 1", "Ham"),
        ("", "Error: give the meal: --eggs, or --ham and --slices"),
        ("--boiled", "Error: --boiled needs --eggs"),
        ("--ham 1", "Error: --ham needs --slices"),
        ("--eggs 1 --ham 1", "Error: --eggs cannot be combined with --ham"),
        ("--eggs 1 --slices 1",
         "Error: --eggs cannot be combined with --slices, which needs --ham"),
        ("--ham 1 --slices 3 --loaf 1", "Error: --slices cannot be combined with --loaf"),
        ("--eggs 1 --eggs 2", "Error: --eggs must be given once, got 2"),
    ],
)  # fmt: skip
def test_stated_options_select_the_way(arguments: str, answer: str) -> None:
    assert choice(arguments) == answer


@pytest.mark.parametrize("kinds", [cost_kinds(), acceptance_kinds()], ids=["cost", "acceptance"])
def test_every_way_has_its_options_on_the_command(
    kinds: tuple[Any, ...],
) -> None:
    for kind in kinds:
        assert kind.reads() <= set(OPTIONS)
        assert set(kind.needs) <= kind.reads()
    orders = [kind.order for kind in kinds]
    assert orders == sorted(set(orders))


def _stated(name: str) -> list[str]:
    """Returns an option with a value that it takes."""
    param = next(param for param in plan_command.params if param.name == name)
    if getattr(param, "is_flag", False):
        return [OPTIONS[name]]
    values = {"verify_ms": "4=33", "batch": "4", "context": "64", "at_gamma": "4",
              "runs": "gamma=3,tpot=4,length=2"}  # fmt: skip
    if isinstance(param.type, click.Choice):
        return [OPTIONS[name], str(param.type.choices[0])]
    return [OPTIONS[name], values.get(name, "1")]


@pytest.mark.parametrize(
    ("kinds", "beside"),
    [(cost_kinds(), "--alpha 0.8"), (acceptance_kinds(), "--c 0.1")],
    ids=["cost", "acceptance"],
)
def test_no_two_options_of_different_ways_are_taken_together(
    kinds: tuple[Any, ...], beside: str
) -> None:
    # A profile with costs, and runs with an acceptance, state an input twice. How drafts are chosen
    # belongs to a profile and to costs of a GPU, and is refused without both.
    beside_others = {"profile_path", "draft_sampling", "runs" if beside.startswith("--c") else ""}
    names = sorted({name for kind in kinds for name in kind.reads()} - beside_others)
    pairs = [
        pair
        for pair in itertools.combinations(names, 2)
        if not any(kind.reads() >= set(pair) for kind in kinds)
    ]
    assert len(pairs) > 10
    for first, second in pairs:
        arguments = [*beside.split(), *_stated(first), *_stated(second)]
        result = CliRunner().invoke(plan_command, arguments)
        assert result.exit_code == 2, arguments
        assert "cannot be combined with" in result.output, arguments


def test_draft_sampling_needs_a_profile_or_a_gpu() -> None:
    arguments = ["--alpha", "0.8", "--c", "0.1", "--draft-sampling", "sampled"]
    result = CliRunner().invoke(plan_command, arguments)
    assert result.exit_code == 2
    assert "--draft-sampling needs --profile or --target-config" in result.output
