"""Acceptance as a server counted it, in each form that servers print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from specplan.options.command import COUNT, option, rare
from specplan.options.kinds import AcceptanceKind, Made, Server
from specplan.options.runs import Runs, counts_of
from specplan.options.values import counted_share, shares

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

    at_gamma: The gamma those were counted at.
    """

    at_gamma: int = option(type=COUNT, metavar="G")


@dataclass(frozen=True)
class AcceptedFraction(CountedAt, AcceptanceKind, order=2, needs=("accepted_fraction", "at_gamma")):
    """Accepted over drafted tokens, and the gamma at which they were counted.

    accepted_fraction: Accepted over drafted tokens (171/297). Or 49.7%, 0.497; with --at-gamma.
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

    block_efficiency: Mean acceptance length; with --at-gamma. It is the tokens per call of the
      target.
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

    by_position: Rates of positions 1, 2, ... of a draft. As servers print them: they count all
      drafts.
    conditional: The rates count only the drafts whose earlier positions were accepted.
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


class Lengths(Runs, AcceptanceKind, order=7, needs=("runs",)):
    """Runs with accepted lengths; see the option's help."""

    def make(self, draft_kind: str | None, server: Server) -> Made:
        found = counts_of(self.runs or ())
        if not found:
            raise click.UsageError(
                "give the acceptance: a --run beyond gamma 0 with its length, or another option"
            )
        return counted(found, draft_kind)
