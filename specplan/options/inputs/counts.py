"""Acceptance as a server counted it, in each form that servers print, or as published."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from specplan.options.command import COUNT, option, rare
from specplan.options.kinds import AcceptanceKind, Made, Server
from specplan.options.runs import Runs, counts_of
from specplan.options.values import counted_share, listing, near, shares

if TYPE_CHECKING:
    from simulator.acceptance.accepted import Accepted


def counted(counts: Sequence[Accepted], draft_kind: str | None, *notes: str) -> Made:
    """Returns the acceptance estimated from counts, with notes on contradictions."""
    from simulator.acceptance.from_counts import from_counts
    from specplan.reports.plan import Origin

    found = from_counts(counts, kind=draft_kind)
    return (found,), Origin(counted=True, notes=(*found.contradictions, *notes))


@dataclass(frozen=True)
class CountedAt:
    """The gamma at which an acceptance was counted.

    at_gamma: Gamma of the counted drafts.
    """

    at_gamma: int = option(type=COUNT, metavar="G")


@dataclass(frozen=True)
class AcceptedFraction(CountedAt, AcceptanceKind, order=2, needs=("accepted_fraction", "at_gamma")):
    """Accepted over drafted tokens, and the gamma at which they were counted.

    accepted_fraction: Accepted over drafted tokens (171/297). Also as 49.7% or 0.497. Needs
      --at-gamma.
    """

    accepted_fraction: tuple[float, float | None] = option(callback=counted_share, metavar="F")

    def make(self, draft_kind: str | None, server: Server) -> Made:
        from simulator.acceptance.accepted import Accepted

        (fraction, drafted), gamma = self.accepted_fraction, self.at_gamma
        found = Accepted.of_fraction(fraction, gamma, drafted)
        assumed = (
            f"Every draft is taken to have {gamma} tokens. If some end early, as below a p-min of "
            "llama.cpp, acceptance is lower: state --block-efficiency."
        )
        if found.error > 0 and drafted is not None and found.drafts is not None:
            assumed = (
                f"{drafted:.0f} is no multiple of {gamma}: some drafts ended early. They are taken "
                f"to be {found.drafts:.0f}, a guess between {math.ceil(drafted / gamma)} and "
                f"{drafted:.0f}: state --block-efficiency."
            )
        return counted([found], draft_kind, assumed)


@dataclass(frozen=True)
class BlockEfficiency(CountedAt, AcceptanceKind, order=3, needs=("block_efficiency", "at_gamma")):
    """Tokens per target call, and the gamma at which they were counted.

    block_efficiency: Mean acceptance length. This is the number of tokens per target call. Needs
      --at-gamma.
    """

    block_efficiency: float = option(metavar="E")

    def make(self, draft_kind: str | None, server: Server) -> Made:
        from simulator.acceptance.accepted import Accepted

        length, most = self.block_efficiency, self.at_gamma + 1
        if not 1 <= length <= most:
            raise ValueError(
                f"block_efficiency must lie in [1, gamma + 1 = {most}], got {length:g}"
            )
        return counted([Accepted(self.at_gamma, length)], draft_kind)


@dataclass(frozen=True)
class Positions(AcceptanceKind, order=4, needs=("by_position",)):
    """Acceptance rates by position, and whether they are conditional.

    by_position: Rates of positions 1, 2, ... of a draft. They are shares of all drafts, as servers
      print them.
    conditional: The rates are shares of the drafts whose earlier positions were accepted.
    """

    by_position: tuple[float, ...] = option(
        "--acceptance-by-position", callback=shares, metavar="R,R,..."
    )
    conditional: bool = rare(default=False)

    def make(self, draft_kind: str | None, server: Server) -> Made:
        import numpy as np

        from simulator.acceptance.accepted import Accepted

        rates = np.cumprod(self.by_position) if self.conditional else self.by_position
        try:
            return counted([Accepted.of_rates(rates)], draft_kind)
        except ValueError as error:
            raise click.UsageError(
                f"--acceptance-by-position: {error}; rates that count only the drafts whose "
                "earlier positions were accepted go with --conditional"
            ) from None


# From the table's kinds of draft to the kinds that laws of acceptance know.
DRAFT_CLASSES = {"EAGLE-3": "EAGLE", "MTP": "MTP", "DSpark": "block"}


@dataclass(frozen=True, slots=True)
class Typical:
    """Accepted lengths that a source published for a draft, its target and a workload.

    lengths: tokens per target call, by gamma.
    """

    name: str
    kind: str
    draft: str
    target: str
    workload: str
    lengths: Mapping[int, float]
    source: str
    date: str


@cache
def typical() -> Mapping[str, Typical]:
    """Returns all published acceptances, by name."""
    with Path(__file__).with_name("typical.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        gammas, lengths = row.pop("gammas").split("/"), row.pop("lengths").split("/")
        by_gamma = {int(g): float(length) for g, length in zip(gammas, lengths, strict=True)}
        found[row["name"]] = Typical(**row, lengths=by_gamma)
    return found


def _complete(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [
        CompletionItem(each.name, help=f"{each.target}, {each.workload}")
        for each in typical().values()
        if each.name.startswith(incomplete)
    ]


@dataclass(frozen=True)
class Published(AcceptanceKind, order=6, needs=("typical",)):
    """The name of a published acceptance.

    typical: Published accepted lengths, or list. For example eagle3-llama-3.1-8b-chat. Lengths on
      your server will differ.
    """

    typical: str = option(
        metavar="NAME", shell_complete=_complete, callback=listing(lambda: typical())
    )

    def make(self, draft_kind: str | None, server: Server) -> Made:
        from simulator.acceptance.accepted import Accepted
        from simulator.acceptance.from_counts import from_counts
        from simulator.acceptance.rate_prior import workload_spread
        from specplan.reports.plan import Origin

        chosen = typical().get(self.typical)
        if chosen is None:
            known, hint = ", ".join(typical()), near(self.typical, typical())
            raise ValueError(f"--typical must be one of {known}, got {self.typical!r}{hint}")
        lengths = ", ".join(f"{length:g} at gamma {g}" for g, length in chosen.lengths.items())
        note = (
            f"Typical: {chosen.kind} draft {chosen.draft} for {chosen.target} on "
            f"{chosen.workload}, {lengths} tokens per target call, published by {chosen.source} "
            f"({chosen.date}). Yours will differ: measure or observe it."
        )
        counts = [Accepted(gamma, length) for gamma, length in chosen.lengths.items()]
        kind = DRAFT_CLASSES[chosen.kind] if draft_kind is None else draft_kind
        found = from_counts(counts, kind=kind, elsewhere=workload_spread())
        return (found,), Origin(counted=True, notes=(note,))


class Lengths(Runs, AcceptanceKind, order=7, needs=("runs",)):
    """Acceptance from runs (--run) whose accepted lengths are stated."""

    def make(self, draft_kind: str | None, server: Server) -> Made:
        found = counts_of(self.runs or ())
        if not found:
            raise click.UsageError(
                "give the acceptance: a --run beyond gamma 0 with its length, or another option"
            )
        return counted(found, draft_kind)
