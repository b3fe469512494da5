"""Acceptance as a server counted it, in each form that servers print, or as published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from specplan.options.declared import COUNT, option, rare
from specplan.options.kinds import AcceptanceKind
from specplan.options.runs import RunsOptions
from specplan.options.values import counted_share, shares

if TYPE_CHECKING:
    from simulator.acceptance.typical import PublishedLengths
    from specplan.api.request import AcceptanceInput


@dataclass(frozen=True)
class CountedAt:
    """The gamma at which an acceptance was counted.

    at_gamma: Gamma of the counted drafts.
    """

    at_gamma: int = option(type=COUNT, metavar="G")


@dataclass(frozen=True)
class FractionOptions(CountedAt, AcceptanceKind, order=2, needs=("accepted_fraction", "at_gamma")):
    """Accepted over drafted tokens, and the gamma at which they were counted.

    accepted_fraction: Accepted over drafted tokens (171/297). Also as 49.7% or 0.497. Needs
      --at-gamma.
    """

    accepted_fraction: tuple[float, float | None] = option(callback=counted_share, metavar="F")

    def make(self) -> AcceptanceInput:
        from simulator.acceptance.counted import AcceptedFraction

        fraction, drafted = self.accepted_fraction
        return (AcceptedFraction(fraction, self.at_gamma, drafted=drafted),)


@dataclass(frozen=True)
class EfficiencyOptions(CountedAt, AcceptanceKind, order=3, needs=("block_efficiency", "at_gamma")):
    """Tokens per target call, and the gamma at which they were counted.

    block_efficiency: Mean acceptance length. This is the number of tokens per target call. Needs
      --at-gamma.
    """

    block_efficiency: float = option(metavar="E")

    def make(self) -> AcceptanceInput:
        from simulator.acceptance.counted import BlockEfficiency

        return (BlockEfficiency(self.block_efficiency, self.at_gamma),)


@dataclass(frozen=True)
class PositionOptions(AcceptanceKind, order=4, needs=("by_position",)):
    """Acceptance rates by position, and whether they are conditional.

    by_position: Rates of positions 1, 2, ... of a draft. They are shares of all drafts, as servers
      print them.
    conditional: The rates are shares of the drafts whose earlier positions were accepted.
    """

    by_position: tuple[float, ...] = option(
        "--acceptance-by-position", callback=shares, metavar="R,R,..."
    )
    conditional: bool = rare(default=False)

    def make(self) -> AcceptanceInput:
        from simulator.acceptance.counted import ByPosition

        return (ByPosition(self.by_position, conditional=self.conditional),)


def _published() -> Mapping[str, PublishedLengths]:
    from simulator.acceptance.typical import published_lengths

    return published_lengths()


def _complete(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [
        CompletionItem(name, help=f"{lengths.target}, {lengths.workload}")
        for name, lengths in _published().items()
        if name.startswith(incomplete)
    ]


def _named(ctx: click.Context, _param: click.Parameter, value: str) -> str:
    """Returns a name; `list`, or a part of several names, prints those with their lengths."""
    if not ctx.resilient_parsing:
        from specplan.reports.typical import listed

        if (text := listed(value)) is not None:
            if further := " ".join(ctx.meta.get("specplan.further", ())):
                name = further if value == "list" else value
                ctx.fail(f"--typical has one name or a part of it, got {value} {further}: write "
                         f"--typical {name}")  # fmt: skip
            click.echo(text)
            ctx.exit()
    return value


@dataclass(frozen=True)
class TypicalOptions(AcceptanceKind, order=6, needs=("typical",)):
    """The name of a published acceptance.

    typical: Published accepted lengths, by name. list prints all names with draft, target, lengths
      and source, and a part of names (qwen3) those. For example eagle3-llama-3.1-8b-chat. Lengths
      on your server will differ.
    """

    typical: str = option(metavar="NAME", shell_complete=_complete, callback=_named)

    def make(self) -> AcceptanceInput:
        from simulator.acceptance.typical import Typical

        return (Typical(self.typical),)


class LengthOptions(RunsOptions, AcceptanceKind, order=7, needs=("runs",)):
    """Acceptance from runs (--run) whose accepted lengths are stated."""

    def make(self) -> AcceptanceInput:
        from specplan.api.runs import acceptance_of_runs

        return (acceptance_of_runs(self.runs or ()),)
