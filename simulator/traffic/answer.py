"""The answer of `specplan traffic`: closed form at each rate with intervals, and simulations."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.choice.advice import Advice
from simulator.choice.schedule import Range
from simulator.numerics.intervals import ENDS
from simulator.traffic.demand import Requests
from simulator.traffic.doubt import Doubt
from simulator.traffic.pair import Pair, within
from simulator.traffic.policy import GammaTable
from simulator.traffic.server import Server
from simulator.traffic.simulation_result import LatencyTargets, SimulationResult
from simulator.traffic.steady import Steady

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class TrafficRequest:
    """A server, its load, and what to compute.

    pair: the server with and without speculation.
    rates: requests a second.
    doubt: draws of the pair; None: its costs and acceptance are exact.
    targets: latency targets; None: none.
    arrivals: gives the requests to simulate at a rate; None: no simulation.
    seed: seed of the simulation.
    burst: requests that all come at once, in place of rates; None: none.
    """

    pair: Pair
    rates: tuple[float, ...]
    doubt: Doubt | None = None
    targets: LatencyTargets | None = None
    arrivals: Callable[[float], Requests] | None = None
    seed: int = 0
    burst: Requests | None = None

    @property
    def drawn(self) -> Pair | None:
        """Draws of the pair; None: nothing is in doubt."""
        if self.doubt is None:
            return None
        drafting, baseline = map(self.doubt.of, (self.pair.drafting, self.pair.baseline))
        return Pair(drafting, baseline, self.pair.demand, self.pair.gammas)


@dataclass(frozen=True, slots=True)
class TrafficRow:
    """One rate, with speculation or without.

    gamma: drafted tokens per block; 0: without speculation.
    state: steady state at this rate, arrays of one element.
    tokens_per_second: throughput of all requests; at the capacity where the rate is above it.
    token_seconds: interval of the time between tokens; None: it is exact.
    overload_risk: share of the draws whose capacity is below the rate; None: nothing is in doubt.
    on_target: whether mean times meet the latency targets; None: there are none.
    advice: which γ to run at this rate; None without speculation.
    """

    rate: float
    gamma: int
    state: Steady
    tokens_per_second: float
    token_seconds: Interval | None = None
    overload_risk: float | None = None
    on_target: bool | None = None
    advice: Advice | None = None

    @property
    def stable(self) -> bool:
        """Whether the server sustains the rate."""
        return bool(self.state.stable[0])


@dataclass(frozen=True, slots=True)
class Simulated:
    """The same arrivals served under one policy.

    rate: requests a second; 0 for a burst.
    policy: none, fixed, schedule or request.
    gamma: drafted tokens per block where the policy is fixed; None: it varies, or is in the row.
    """

    rate: float
    policy: str
    result: SimulationResult
    gamma: int | None = None


@dataclass(frozen=True, slots=True)
class Traffic:
    """The answer.

    rows: two for each rate, without and with speculation.
    max_rate, max_rate_without: capacities in requests a second.
    break_even: rate above which speculation lengthens requests; 0: at any rate, None: at none.
    within_targets: largest rates that meet the latency targets, with and without; None: no targets.
    schedule: advised γ by batch.
    simulated: simulation results per policy, for each rate that the server sustains.
    draws: number of posterior draws behind the intervals; 0 if the inputs are exact.
    max_rate_interval, max_rate_without_interval, break_even_interval: None if exact.
    """

    rows: tuple[TrafficRow, ...]
    max_rate: float
    max_rate_without: float
    break_even: float | None
    within_targets: tuple[float, float] | None
    schedule: tuple[Range, ...]
    simulated: tuple[Simulated, ...] = ()
    draws: int = 0
    max_rate_interval: Interval | None = None
    max_rate_without_interval: Interval | None = None
    break_even_interval: Interval | None = None


def answer(request: TrafficRequest) -> Traffic:
    """Returns the times of requests at each rate, and the rates that the server sustains.

    Raises:
      ValueError: if a rate is no positive number or the server sustains none of them either way, if
        its cache does not hold a request, or if not even an idle server meets the targets.
    """
    pair, rates, targets = request.pair, np.array(request.rates), request.targets
    most, without = float(pair.max_rate), float(pair.max_rate_without)
    if not 0 < rates.min() < max(most, without):
        raise ValueError(
            f"rate must lie between 0 and {max(most, without):.4g} requests a second, "
            f"the capacity of the server, got {rates.min():g}"
        )
    crossing = float(pair.break_even())
    near = min(crossing, 0.999 * most) or 1e-3 * most
    drawn = request.drawn
    *found, at_crossing = pair.advice([*rates, near], drawn)
    schedule = GammaTable.scheduled(pair, drawn)
    rows = [
        TrafficRow(
            rate,
            gamma,
            state,
            min(rate, float(state.max_rate)) * pair.demand.output_tokens,
            on_target=None if targets is None else bool(within(state, targets)[0]),
            advice=advice if gamma > 0 else None,
        )
        for rate, advice in zip(request.rates, found, strict=True)
        for gamma in (0, advice.named)
        for state in [pair.under(gamma, rate)]
    ]
    exact = Traffic(
        rows=tuple(rows),
        max_rate=most,
        max_rate_without=without,
        break_even=None if np.isinf(crossing) else crossing,
        within_targets=None if targets is None else pair.rates_within(targets),
        schedule=schedule.ranges(pair.drafting.max_batch(pair.demand)),
        simulated=tuple(
            each
            for rate, advice in zip(request.rates, found, strict=True)
            for each in _simulated(request, rate, advice.named, schedule)
        ),
    )
    return exact if drawn is None else _with_intervals(exact, pair, drawn, at_crossing.named)


def answer_burst(request: TrafficRequest) -> tuple[Simulated, ...]:
    """Returns simulations of a burst: none, the fixed γ that ends it first, and γ by batch.

    The batch falls as requests end, so that a schedule drafts more and more.
    """
    from simulator.traffic.events import serve

    pair, requests = request.pair, request.burst
    assert requests is not None
    ways: list[tuple[str, int | None, Server, GammaTable]] = []
    ways += [("none", 0, pair.baseline, GammaTable.fixed(pair.baseline, 0))]
    ways += [("fixed", g, pair.drafting, GammaTable.fixed(pair.drafting, g)) for g in pair.gammas]
    ways += [("schedule", None, pair.drafting, GammaTable.scheduled(pair, request.drawn))]
    none, *fixed, schedule = (
        Simulated(0.0, name, serve(server, requests, policy, seed=request.seed), gamma)
        for name, gamma, server, policy in ways
    )
    return none, min(fixed, key=lambda each: each.result.seconds), schedule


def _with_intervals(exact: Traffic, pair: Pair, drawn: Pair, at_crossing: int) -> Traffic:
    """Returns the answer with intervals: every draw serves with and without, at all batches."""
    rates = sorted({row.rate for row in exact.rows})
    times = {gamma: drawn.under(gamma, rates) for gamma in {row.gamma for row in exact.rows}}
    rows = [
        replace(row, token_seconds=_interval(found), overload_risk=float((~stable).mean()))
        for row in exact.rows
        for place in [rates.index(row.rate)]
        for found in [times[row.gamma].token_seconds[:, place]]
        for stable in [times[row.gamma].stable[:, place]]
    ]
    # Which γ has the largest capacity, or is best, hardly depends on the draw.
    largest = replace(drawn, gammas=(pair.max_rate_gamma,))
    return replace(
        exact,
        rows=tuple(rows),
        draws=len(drawn.drafting.seconds),
        max_rate_interval=_interval(largest.max_rate),
        max_rate_without_interval=_interval(drawn.max_rate_without),
        break_even_interval=_interval(replace(drawn, gammas=(at_crossing,)).break_even()),
    )


def _interval(values: NDArray[np.float64]) -> Interval | None:
    if np.isnan(values).any():
        return None
    low, high = np.quantile(values, ENDS, method="nearest").tolist()
    return low, high


def _simulated(
    request: TrafficRequest, rate: float, gamma: int, schedule: GammaTable
) -> list[Simulated]:
    """Returns simulations of a rate; without speculation and with it, where it is sustained."""
    if request.arrivals is None:
        return []
    from simulator.traffic.events import serve

    pair = request.pair
    requests = request.arrivals(rate)
    ways = {"none": (pair.baseline, GammaTable.fixed(pair.baseline, 0))}
    if rate < pair.max_rate:
        server = pair.drafting
        ways["fixed"] = (server, GammaTable.fixed(server, gamma))
        ways["schedule"] = (server, schedule)
        if server.blocks.kinds > 1:
            ways["request"] = (server, GammaTable.by_request(server, pair.demand))
    if rate >= pair.max_rate_without:
        del ways["none"]
    return [
        Simulated(rate, name, serve(server, requests, policy, seed=request.seed))
        for name, (server, policy) in ways.items()
    ]
