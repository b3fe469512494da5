"""A rate with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Of the normal law, for 95 %.
DEVIATIONS = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def rate_interval(hits: float, trials: float) -> Rate:
    """Returns a binomial rate with Wilson's interval; of no trials, 0 within [0, 1].

    Trials need not be whole where they are only expected. The interval is of independent trials;
    blocks of one text are nearly so.
    """
    if trials == 0:
        return Rate(0.0, 0.0, 1.0)
    rate, square = hits / trials, DEVIATIONS**2
    centre = (rate + square / (2 * trials)) / (1 + square / trials)
    half = (
        DEVIATIONS
        / (1 + square / trials)
        * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials**2))
    )
    return Rate(rate, max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half)))
