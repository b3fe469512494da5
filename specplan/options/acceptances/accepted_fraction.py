"""`--accepted-fraction`: accepted over drafted tokens at one gamma, as servers print it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specplan.options.declared import COUNT, option
from specplan.options.kinds import AcceptanceKind, Background, Stated, counted
from specplan.options.ranges import counted_share

if TYPE_CHECKING:
    from simulator.acceptance.accepted import Accepted


@dataclass(frozen=True)
class CountedAt:
    """The gamma at which an acceptance was counted; see the option's help."""

    at_gamma: int = option(type=COUNT, metavar="G", help="The gamma those were counted at.")


@dataclass(frozen=True)
class AcceptedFraction(CountedAt, AcceptanceKind):
    """Accepted over drafted tokens, and the gamma at which they were counted."""

    order = 2
    needs = ("accepted_fraction", "at_gamma")

    accepted_fraction: tuple[float, float | None] = option(
        callback=counted_share,
        metavar="F",
        help="Accepted over drafted tokens (171/297). Or 49.7%, 0.497; with --at-gamma.",
    )

    def make(self, background: Background) -> Stated:
        from simulator.acceptance.accepted import Accepted

        fraction, drafted = self.accepted_fraction
        found = Accepted.of_fraction(fraction, self.at_gamma, drafted)
        stated = counted([found], background)
        return replace(stated, notes=(*stated.notes, self._assumed(found, drafted)))

    def _assumed(self, found: Accepted, drafted: float | None) -> str:
        """Returns a sentence that states the number of tokens per draft that is assumed."""
        if found.error == 0 or drafted is None or found.drafts is None:
            return (
                f"Every draft is taken to have {self.at_gamma} tokens. If some end early, as below "
                "a p-min of llama.cpp, acceptance is lower: state --block-efficiency."
            )
        return (
            f"{drafted:.0f} is no multiple of {self.at_gamma}: some drafts ended early. They are "
            f"taken to be {found.drafts:.0f}, a guess between "
            f"{math.ceil(drafted / self.at_gamma)} and {drafted:.0f}: state --block-efficiency."
        )
