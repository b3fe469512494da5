"""The K to run by rate of requests: ranges of rates in which it does not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isclose
from typing import Literal

import numpy as np

from simulator.choice.advice import Advice
from simulator.numerics.arguments import Floats
from simulator.traffic.demand import LatencyTargets
from simulator.traffic.pair import Pair
from simulator.traffic.row import loses

# A gain is decided, or most probable but to be measured, or undecided where a loss is most
# probable; or drafts lose.
Verdict = Literal["gain", "measure", "unlikely", "loss"]
# Rates that are compared first, and how often a range's end is then halved.
_RATES, _HALVINGS = 16, 4
# Drafts that gain end at the break-even rate if it differs from a range's end by at most this
# share: closer to it they gain less than 1 %.
_SAME = 0.03


@dataclass(frozen=True, slots=True)
class RateRange:
    """Rates with one K.

    last: largest rate of the range, requests per second; infinite: all above the range before.
    gamma: K to run, or to compare with no speculation.
    verdict: whether K gains there.
    """

    last: float
    gamma: int
    verdict: Verdict

    @property
    def drafts(self) -> bool:
        """Whether a gain is most probable."""
        return self.verdict in ("gain", "measure")


def rate_ranges(
    pair: Pair,
    drawn: Pair | None,
    targets: LatencyTargets | None,
    advised: Mapping[float, Advice],
    edge: float,
) -> tuple[RateRange, ...]:
    """Returns the K of every rate as ranges, the lowest rates first.

    drawn: draws of the pair; None if nothing is uncertain.
    advised: by stated rate of one server, `Pair.advice` there, which the ranges agree with.
    edge: the rate above which drafts lose, `Pair.break_even`.
    """
    most = max(float(pair.max_rate), float(pair.max_rate_without))
    known, even = np.array(sorted(advised)), np.linspace(0, most, _RATES + 1)[1:]
    others = even[np.abs(even[:, None] - known).min(axis=1) > most / (2 * _RATES)]
    advice = dict(advised) | dict(zip(others.tolist(), pair.choices(others, drawn), strict=True))
    places = np.array(sorted(advice))
    choices = _choices(pair, targets, places, [advice[rate] for rate in places.tolist()])
    before = [at for at in range(len(choices) - 1) if choices[at] != choices[at + 1]]
    low, high = places[before], places[[at + 1 for at in before]]
    for _ in range(_HALVINGS if before else 0):
        middle = (low + high) / 2
        of_middle = pair.choices(middle, drawn)
        kept = [
            choice == choices[at]
            for at, choice in zip(before, _choices(pair, targets, middle, of_middle), strict=True)
        ]
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    chosen = [choices[at] for at in [*before, len(choices) - 1]]
    parts = [RateRange(end, *one) for end, one in zip([*low.tolist(), inf], chosen, strict=True)]
    return tuple(
        replace(part, last=edge)
        if part.drafts and not after.drafts and isclose(part.last, edge, rel_tol=_SAME)
        else part
        for part, after in zip(parts, [*parts[1:], parts[-1]], strict=True)
    )


def range_at(ranges: Sequence[RateRange], rate: float) -> RateRange:
    """Returns the range of a rate."""
    return next(part for part in ranges if rate <= part.last)


def _choices(
    pair: Pair, targets: LatencyTargets | None, rates: Floats, advice: Sequence[Advice]
) -> list[tuple[int, Verdict]]:
    """Returns K and whether it gains at each rate."""
    states = {gamma: pair.under(gamma, rates) for gamma in {0, *(one.named for one in advice)}}
    within = {gamma: state.within(targets) for gamma, state in states.items() if targets}

    def verdict(at: int, one: Advice) -> Verdict:
        met, plain = (
            bool(within[gamma][at]) if gamma in within else None for gamma in (one.named, 0)
        )
        lost = loses(one, stable=bool(states[one.named].stable[at]), met=met, met_without=plain)
        if lost or (one.best == 0 and not one.undecided):
            return "loss"
        if one.undecided:
            return "measure" if one.best else "unlikely"
        return "gain"

    return [(one.named, verdict(at, one)) for at, one in enumerate(advice)]
