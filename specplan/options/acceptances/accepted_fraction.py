"""Accepted over drafted tokens at one gamma, as servers print it."""

from dataclasses import dataclass

import click

from specplan.options.declared import option
from specplan.options.kinds import AcceptanceKind, Background, Stated, counted
from specplan.options.ranges import counted_share


@dataclass(frozen=True)
class CountedAt:
    """At which gamma something was counted."""

    at_gamma: int = option(
        "--at-gamma",
        type=click.IntRange(min=1),
        metavar="G",
        help="The gamma those were counted at.",
    )


@dataclass(frozen=True)
class AcceptedFraction(CountedAt, AcceptanceKind):
    """The fraction, and its gamma."""

    order = 2
    needs = ("accepted_fraction", "at_gamma")

    accepted_fraction: tuple[float, float | None] = option(
        "--accepted-fraction",
        callback=counted_share,
        metavar="F",
        help="Accepted over drafted tokens, as servers print it (0.497, 49.7% or 171/297); with "
        "--at-gamma.",
    )

    def make(self, background: Background) -> Stated:
        from simulator.acceptance.accepted import Accepted

        fraction, drafted = self.accepted_fraction
        return counted([Accepted.of_fraction(fraction, self.at_gamma, drafted)], background)
