"""The answer of `specplan traffic`: steady states with intervals, and simulations by policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from simulator.choice.advice import Advice
from simulator.choice.grid import Range
from simulator.numerics.arguments import Floats
from simulator.numerics.intervals import ENDS
from simulator.traffic.demand import LatencyTargets, Requests, SimulationResult
from simulator.traffic.events import serve
from simulator.traffic.pair import Pair
from simulator.traffic.policy import GammaTable, by_rank
from simulator.traffic.server import Doubt, Server
from simulator.traffic.steady import Steady

Way = tuple[Server, GammaTable]


@dataclass(frozen=True, slots=True)
class Simulated:
    """One simulation: arrivals served under one policy.

    rate: requests per second; 0 for a burst.
    policy: none, fixed, schedule, request or adaptive.
    gamma: drafted tokens per block of the fixed policy; None for other policies.
    """

    rate: float
    policy: str
    result: SimulationResult
    gamma: int | None = None


def simulations(
    pair: Pair, requests: Requests, schedule: GammaTable, *, rate: float, gamma: int, seed: int
) -> list[Simulated]:
    """Returns simulations at a rate, without drafts and by each policy that sustains the rate."""
    ways = {} if rate >= pair.max_rate_without else {"none": _fixed(pair, 0)}
    if rate < pair.max_rate:
        ways |= {"fixed": _fixed(pair, gamma), "schedule": (pair.drafting, schedule)}
        if pair.drafting.blocks.kinds > 1:
            ways["request"] = (pair.drafting, GammaTable.by_request(pair))
        if pair.ranked is not None:
            ways["adaptive"] = by_rank(pair, pair.ranked)
    return [_served(name, way, requests, rate=rate, seed=seed) for name, way in ways.items()]


def burst_simulations(
    pair: Pair, requests: Requests, *, drawn: Pair | None, seed: int
) -> tuple[Simulated, ...]:
    """Returns simulations of a burst: without drafts, at the fastest fixed γ, by other policies."""
    none, *fixed = (
        _served("fixed" if gamma else "none", _fixed(pair, gamma), requests, seed=seed, gamma=gamma)
        for gamma in (0, *pair.gammas)
    )
    ways = {"schedule": (pair.drafting, GammaTable.scheduled(pair, drawn))}
    if pair.ranked is not None:
        ways["adaptive"] = by_rank(pair, pair.ranked)
    others = [_served(name, way, requests, seed=seed) for name, way in ways.items()]
    return none, min(fixed, key=lambda each: each.result.seconds), *others


def _fixed(pair: Pair, gamma: int) -> Way:
    server = pair.server(gamma)
    return server, GammaTable.fixed(server, gamma)


def _served(
    policy: str,
    way: Way,
    requests: Requests,
    *,
    seed: int,
    rate: float = 0.0,
    gamma: int | None = None,
) -> Simulated:
    return Simulated(rate, policy, serve(way[0], requests, way[1], seed=seed), gamma)


Interval = tuple[float, float]
# Share of the capacity below which times in closed form have errors of a few per cent
# (`benchmarks/traffic_closed_form.py --near`).
TRUSTED = 0.8


@dataclass(frozen=True, slots=True)
class TrafficRequest:
    """A server, its load, and the requested computations.

    rates: requests per second.
    burst: requests that arrive together, instead of arrivals at `rates`; None: no burst.
    doubt: random draws of costs and acceptance; None if both are exact.
    arrivals: maps a rate to the requests to simulate; None: no simulation.
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
        """The pair with an axis of random draws of its times; None if nothing is uncertain."""
        if self.doubt is None:
            return None
        drafting, baseline = map(self.doubt.of, (self.pair.drafting, self.pair.baseline))
        return replace(self.pair, drafting=drafting, baseline=baseline, measured={})


@dataclass(frozen=True, slots=True)
class TrafficRow:
    """Steady state at one rate, with or without speculation.

    gamma: drafted tokens per block; 0 without speculation.
    state: steady state at this rate in requests per second, arrays of one element.
    tokens_per_second: throughput of all requests; above capacity, the throughput at capacity.
    token_seconds: interval of the time between tokens; None if it is exact.
    overload_risk: share of draws with a capacity below the rate; None if nothing is uncertain.
    on_target: whether mean times meet the latency targets; None if there are none.
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

    @property
    def near_capacity(self) -> bool:
        """Whether the rate is so near the capacity that the closed form underestimates times."""
        return self.stable and self.rate > TRUSTED * float(self.state.max_rate)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Steady states, capacities and simulations of a server.

    rows: two for each rate, without and with speculation.
    max_rate, max_rate_without: capacities in requests per second, with and without speculation.
    break_even: rate above which speculation slows requests down; 0 if always, None if never.
    within_targets: largest rates that meet targets, with and without speculation; None: no target.
    schedule: advised γ by batch size.
    simulated: simulation results per policy, for each rate that the server sustains.
    draws: number of posterior draws behind the intervals; 0 if the inputs are exact.
    max_rate_interval, max_rate_without_interval, break_even_interval: None if inputs are exact.
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

    @property
    def undecided(self) -> bool:
        """Whether a measurement must decide, because the kind of draft is not calibrated."""
        return any(row.advice.undecided for row in self.rows if row.advice is not None)


def answer(request: TrafficRequest) -> Traffic:
    """Returns the steady states at each rate, and the rates that the server sustains.

    Raises ValueError if even an idle server misses the targets, or no rate is sustained.
    """
    pair, targets = request.pair, request.targets
    most, without = float(pair.max_rate), float(pair.max_rate_without)
    if not 0 < min(request.rates) < max(most, without):
        raise ValueError(
            f"rate must lie between 0 and {max(most, without):.4g} requests a second, "
            f"the capacity of the server, got {min(request.rates):g}"
        )
    crossing, drawn = float(pair.break_even()), request.drawn
    near = min(crossing, 0.999 * most) or 1e-3 * most
    *found, at_crossing = pair.advice([*request.rates, near], drawn)
    schedule = GammaTable.scheduled(pair, drawn)
    rows, simulated = [], []
    for rate, advice in zip(request.rates, found, strict=True):
        for gamma in (0, advice.named):
            state = pair.under(gamma, rate)
            tokens = min(rate, float(state.max_rate)) * pair.demand.output_tokens
            met = None if targets is None else bool(state.within(targets)[0])
            advised = advice if gamma > 0 else None
            rows.append(TrafficRow(rate, gamma, state, tokens, on_target=met, advice=advised))
        if request.arrivals is not None:
            arrived, seed = request.arrivals(rate), request.seed
            simulated += simulations(
                pair, arrived, schedule, rate=rate, gamma=advice.named, seed=seed
            )
    exact = Traffic(
        rows=tuple(rows),
        max_rate=most,
        max_rate_without=without,
        break_even=None if np.isinf(crossing) else crossing,
        within_targets=None if targets is None else pair.rates_within(targets),
        schedule=schedule.ranges(pair.drafting.max_batch(pair.demand)),
        simulated=tuple(simulated),
    )
    return exact if drawn is None else _with_intervals(exact, pair, drawn, at_crossing.named)


def _with_intervals(exact: Traffic, pair: Pair, drawn: Pair, at_crossing: int) -> Traffic:
    """Returns the answer with intervals, which come from random draws of the server's times."""
    rates = sorted({row.rate for row in exact.rows})
    states = {gamma: drawn.under(gamma, rates) for gamma in {row.gamma for row in exact.rows}}
    rows = []
    for row in exact.rows:
        state, place = states[row.gamma], rates.index(row.rate)
        risk = float((~state.stable[:, place]).mean())
        interval = _interval(state.token_seconds[:, place])
        rows.append(replace(row, token_seconds=interval, overload_risk=risk))
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


def _interval(values: Floats) -> Interval | None:
    if np.isnan(values).any():
        return None
    low, high = np.quantile(values, ENDS, method="nearest").tolist()
    return low, high
