"""The largest rate at which a share of requests meets its targets, found by simulation.

The closed form is within a few per cent of it where the time per token binds, and further off where
the time to the first token does (`benchmarks/sizing_grid.py`). So it gives the first guess, and
simulated arrivals decide. All rates have the same random numbers, so the share falls with the rate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from simulator.traffic.demand import Demand, LatencyTargets
from simulator.traffic.events import serve
from simulator.traffic.population import max_rate
from simulator.traffic.server import Server
from simulator.traffic.steady import Steady, steady

# Relative width at which a search for a rate ends, and the step to a first bracket.
PRECISION, _STEP = 4e-3, 1.05
# Requests of a simulation: the share's standard error is about 0.4 percentage points.
REQUESTS = 10_000
# Rates at which the closed form is evaluated, as shares of the capacity.
_SHARES = np.concatenate([np.geomspace(1e-3, 0.1, 12), np.linspace(0.12, 0.998, 110)])
# A simulation may sustain this much more than the closed form's capacity.
_MORE = 1.25


def closed_limit(
    server: Server, demand: Demand, gamma: int, targets: LatencyTargets, share: float
) -> float:
    """Returns the largest rate at which the share is kept, in closed form; 0 if at none."""
    most = float(max_rate(server, demand, gamma))
    rates = _SHARES * most
    kept = steady(server, demand, gamma, rates).share(targets) >= share
    failed = len(kept) if kept.all() else int(kept.argmin())
    return float(rates[failed - 1]) if failed > 0 else 0.0


def largest_by_means(
    way: Callable[[ArrayLike], Steady], targets: LatencyTargets, idle: float
) -> float:
    """Returns the largest rate at which some γ meets the targets, within 0.1 %; 0 if none does."""
    if not way(idle).within(targets).any():
        return 0.0
    low, high = idle, float(way(idle).max_rate.max())
    while high - low > 1e-3 * high:
        edges = np.linspace(low, high, 34)
        met = way(edges[1:-1]).within(targets).any(axis=0)
        failed = met.size if met.all() else int(met.argmin())
        low, high = edges[failed : failed + 2].tolist()
    return low


def missed_targets(targets: LatencyTargets, states: Sequence[Steady]) -> str:
    """Returns a message that names the target that even an idle server misses."""
    parts = {
        "ttft": (targets.first_seconds, min(float(state.first_seconds.min()) for state in states)),
        "tpot": (targets.token_seconds, min(float(state.token_seconds.min()) for state in states)),
    }
    for name, (target, least) in parts.items():
        if target is not None and target < least:
            return (
                f"slo {name} must be at least {1e3 * least:.3g} ms, which an idle server takes, "
                f"got {1e3 * target:g}{targets.hint}"
            )
    return "`targets` must be met by an idle server, with speculation or without, got neither"


def share_met(
    server: Server,
    demand: Demand,
    gamma: int,
    targets: LatencyTargets,
    rate: float,
    requests: int,
    seed: int,
) -> tuple[float, float]:
    """Returns the share of simulated requests that meet targets, and its standard error."""

    def simulated() -> tuple[float, float]:
        arrived = demand.arrivals(rate, requests, seed=seed)
        served = serve(server, arrived, gamma, seed=seed)
        return served.within(targets), served.within_error(targets)

    # Demands with other recorded requests compare as equal.
    load = (demand, demand.recorded, gamma, targets, rate, requests, seed)
    return server.derived(load, simulated)


def simulated_limit(
    server: Server,
    demand: Demand,
    gamma: int,
    targets: LatencyTargets,
    share: float,
    *,
    requests: int = REQUESTS,
    seed: int = 0,
) -> float:
    """Returns the largest rate at which the share is kept, by simulation; 0 if at none.

    Without a target for the first token, the rate is at most the capacity of the closed form: an
    overloaded server keeps its time per token, while its line grows.
    """

    def keeps(rate: float) -> bool:
        kept, _ = share_met(server, demand, gamma, targets, rate, requests, seed)
        return kept >= share

    most = float(max_rate(server, demand, gamma))
    highest = most if targets.first_seconds is None else _MORE * most
    return largest(
        keeps, closed_limit(server, demand, gamma, targets, share) or most / 100, highest
    )


def largest(keeps: Callable[[float], bool], guess: float, highest: float) -> float:
    """Returns the largest rate up to `highest` that `keeps` accepts, within PRECISION; 0: none.

    keeps: whether a rate is accepted; it accepts no rate above one that it refuses.
    guess: where the search starts, above 0.
    """
    low, high, step = guess, guess, _STEP
    if keeps(min(guess, highest)):
        while keeps(min(high := high * step, highest)):
            if high >= highest:
                return highest
            low, step = high, step**2
    else:
        while not keeps(low := low / step):
            if low < 1e-4 * highest:
                return 0.0
            high, step = low, step**2
    while high > low * (1 + PRECISION):
        middle = sqrt(low * high)
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return min(low, highest)


def in_turn(demand: Demand, replicas: int) -> Demand:
    """Returns the demand of one of several replicas that share the arrivals in turn."""
    return replace(demand, replicas=replicas)
