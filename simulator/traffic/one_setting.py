"""The K to run at each rate, and of a server that keeps one K at all rates."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import exp, log1p
from typing import Literal, NamedTuple

import numpy as np

from simulator.choice.advice import NEAR
from simulator.traffic.demand import LatencyTargets
from simulator.traffic.pair import Pair
from simulator.traffic.rate_ranges import RateRange, range_at


class Against(NamedTuple):
    """A K that is not chosen, the rate that excludes it, and why; None: only slower on average."""

    gamma: int
    rate: float | None
    why: Literal["overloaded", "misses", "slower"]


@dataclass(frozen=True, slots=True)
class RateChoices:
    """The K of every rate, and one K for all stated rates.

    gamma: the K for all stated rates; 0: no speculation; None: each rate has the same choice.
    speed_up: its mean speed-up of requests (geometric); None: not all rates are sustained
      with and without drafts. against: each other K.
    """

    ranges: tuple[RateRange, ...]
    gamma: int | None = None
    speed_up: float | None = None
    against: tuple[Against, ...] = ()

    def times(self, replicas: int) -> RateChoices:
        """Returns the choices with the rates of all replicas."""
        ranges = (replace(part, last=replicas * part.last) for part in self.ranges)
        against = (one._replace(rate=one.rate and replicas * one.rate) for one in self.against)
        return replace(self, ranges=tuple(ranges), against=tuple(against))


def rate_choices(
    pair: Pair,
    ranges: tuple[RateRange, ...],
    rates: Sequence[float],
    targets: LatencyTargets | None,
) -> RateChoices:
    """Returns the choices at stated rates of one server; ranges: the result of `rate_ranges`."""
    choices = RateChoices(ranges)
    parts = [range_at(ranges, rate) for rate in rates]
    if len({part.gamma * part.drafts for part in parts}) == 1:
        return choices
    return _one_setting(choices, pair, rates, {part.gamma for part in parts}, targets)


def _one_setting(
    choices: RateChoices,
    pair: Pair,
    rates: Sequence[float],
    gammas: Collection[int],
    targets: LatencyTargets | None,
) -> RateChoices:
    """Returns the choices with the K, or no speculation, that serves all rates best.

    It sustains as many rates as any, then keeps the targets at as many, then has the fastest
    requests on average, each rate counted once. A smaller K is preferred within `NEAR`.

    gammas: K to choose from, each at least 1. rates: of one server.
    """
    lengths = [0, *sorted(gammas)]
    states = [pair.under(gamma, rates) for gamma in lengths]
    stable = np.stack([state.stable for state in states])
    met = np.stack([s.stable if targets is None else s.within(targets) for s in states])
    served = stable.all(axis=0)
    seconds = np.stack([state.request_seconds(pair.demand) for state in states])[:, served]
    gains = np.log(seconds[:1] / seconds).mean(axis=1) if served.any() else np.zeros(len(states))
    counts = [tuple(row) for row in np.stack([stable.sum(axis=1), met.sum(axis=1)], axis=1)]
    able = [at for at, count in enumerate(counts) if count == max(counts)]
    fastest = max(gains[at] for at in able)
    best = next(at for at in able if gains[at] >= fastest + log1p(-NEAR))

    def against(at: int) -> Against:
        overloaded, missed = (
            [rate for rate, lost in zip(rates, kept[best] & ~kept[at], strict=True) if lost]
            for kept in (stable, met)
        )
        if overloaded:
            return Against(lengths[at], overloaded[0], "overloaded")
        if missed:
            return Against(lengths[at], missed[0], "misses")
        return Against(lengths[at], None, "slower")

    speed_up = exp(float(gains[best])) if (stable[0] & stable[best]).all() else None
    others = tuple(against(at) for at in range(len(lengths)) if at != best)
    return replace(choices, gamma=lengths[best], speed_up=speed_up, against=others)
