"""The share of requests within latency targets by rate and target, computed ahead for a page."""

from collections.abc import Sequence
from itertools import product
from math import isfinite
from typing import Any

import numpy as np

from simulator.traffic.answer import Traffic, TrafficRequest
from simulator.traffic.demand import LatencyTargets
from simulator.traffic.rate_ranges import range_at

# Rates up to this share of the larger capacity, and how many.
_MOST, _RATES = 1.05, 24
# Rates of the curves, up to this share of the capacity.
_CLOSEST, _POINTS = 0.998, 40
# Targets as multiples of the stated one.
_TARGETS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.15, 1.3, 1.6, 2.0, 2.5, 3.0)
_DIGITS = 4


def target_grid(request: TrafficRequest, answer: Traffic) -> dict[str, Any] | None:
    """Returns K and the share of requests within targets by rate and target, as JSON.

    The shares are of the closed form, at the K of each rate. None without latency targets.

    rates: requests per second of all replicas; the stated ones are among them.
    tpot_ms, ttft_ms: targets in milliseconds; [None] where none is stated.
    gamma, advised, undecided, likely: K of each rate, whether it is advised, whether it must be
      measured first, and whether a gain is most probable.
    share, share_without: shape (rates, tpot_ms, ttft_ms), flattened.
    """
    targets, pair = request.targets, request.pair
    if targets is None:
        return None
    rates = _rates(request)
    rates_of_replica = [rate / request.replicas for rate in rates]
    choices = [range_at(answer.choices.ranges, rate) for rate in rates]
    gammas = [choice.gamma for choice in choices]
    states = {gamma: pair.under(gamma, rates_of_replica) for gamma in {0, *gammas}}
    tokens, firsts = _around(targets.token_seconds), _around(targets.first_seconds)
    shares = []
    for token, first in product(tokens, firsts):
        goal = LatencyTargets(first, token)
        met = {gamma: np.atleast_1d(state.share(goal)) for gamma, state in states.items()}
        drafted = [met[gamma][place] for place, gamma in enumerate(gammas)]
        shares.append([drafted, met[0].tolist()])
    both = np.moveaxis(np.array(shares, dtype=float), 0, -1).round(_DIGITS)
    milliseconds = [
        [None if value is None else round(1e3 * value, 6) for value in values]
        for values in (tokens, firsts)
    ]
    return {
        "rates": rates,
        "tpot_ms": milliseconds[0],
        "ttft_ms": milliseconds[1],
        "gamma": gammas,
        "advised": [choice.verdict == "gain" for choice in choices],
        "undecided": [choice.verdict in ("measure", "unlikely") for choice in choices],
        "likely": [choice.drafts for choice in choices],
        "share": both[0].ravel().tolist(),
        "share_without": both[1].ravel().tolist(),
    }


def traffic_by_rate(request: TrafficRequest, answer: Traffic) -> list[dict[str, Any]]:
    """Returns mean times by rate with speculation, at the K of each rate, and without, as JSON.

    Rates are evenly spaced up to the capacity; those that the answer states are among them. Times
    are None where a server is overloaded.
    """
    pair, most = request.pair, _CLOSEST * max(answer.max_rate, answer.max_rate_without)
    even = np.linspace(0, most, _POINTS + 1)[1:].tolist()
    points = (*even, *request.rates, *(answer.within_targets or ()), answer.break_even or most)
    rates = sorted({rate for rate in points if 0 < rate <= most})
    at = np.array(rates) / request.replicas
    named = [range_at(answer.choices.ranges, rate).gamma for rate in rates]
    states, rows = {gamma: pair.under(gamma, at) for gamma in {0, *named}}, []
    for place, (rate, gamma) in enumerate(zip(rates, named, strict=True)):
        for way in (gamma, 0):
            both = states[way].token_seconds[place], states[way].first_seconds[place]
            token, first = (1e3 * float(mean) if isfinite(mean) else None for mean in both)
            rows.append({"rate": rate, "speculation": way > 0, "gamma": way,
                         "tpot_ms": token, "ttft_ms": first})  # fmt: skip
    return rows


def _rates(request: TrafficRequest) -> list[float]:
    """Returns the stated rates, and evenly spaced ones up to just above the capacity."""
    pair = request.pair
    most = _MOST * request.replicas * max(float(pair.max_rate), float(pair.max_rate_without))
    steps = np.linspace(0, max(most, *request.rates), _RATES + 1)[1:].tolist()
    return sorted({*request.rates, *(float(f"{rate:.3g}") for rate in steps)})


def _around(target: float | None) -> Sequence[float | None]:
    return [None] if target is None else [target * factor for factor in _TARGETS]
