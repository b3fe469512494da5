"""The rate of requests from which on drafts lose, found on a grid of shares of the capacity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simulator.numerics.arguments import Floats

# Rates that are compared, as shares of the capacity.
_SHARES = np.concatenate([np.geomspace(1e-3, 0.1, 16), np.linspace(0.12, 0.999, 80)])
# Every eighth rate is compared first, then the rates near those at which a draw begins to lose.
_STRIDE = 8
_COARSE = np.array([*range(0, len(_SHARES), _STRIDE), len(_SHARES) - 1])


def first_crossing(losses: Callable[[Floats], Floats], capacity: Floats) -> Floats:
    """Returns the lowest rate from which on losses are above 0, linear between two rates.

    It is 0 if the lowest rate has a loss, and NaN if no rate has one.

    losses: returns the losses at rates of each draw, in the same ratios, shape (..., rates).
    capacity: rate above which nothing is compared, shape (...).
    """
    most = np.asarray(capacity)[..., None]
    coarse = losses(_SHARES[_COARSE] * most) > 0
    begins = coarse.argmax(axis=-1)[coarse.any(axis=-1)]
    least, largest = (begins.min(), begins.max()) if len(begins) else (0, 0)
    rates = _SHARES[_STRIDE * max(least - 1, 0) : _STRIDE * largest + 1] * most
    table = losses(rates)
    losing = table > 0
    first = losing.argmax(axis=-1)[..., None]
    (below, low), (above, high) = (
        [np.take_along_axis(of_rates, places, -1) for of_rates in (table, rates)]
        for places in (np.maximum(first - 1, 0), first)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(np.isfinite(above), -below / (above - below), 1.0)
        crossing = np.where(first == 0, 0.0, low + share * (high - low))[..., 0]
    return np.where(losing.any(axis=-1), crossing, np.nan)
