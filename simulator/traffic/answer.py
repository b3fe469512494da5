"""What becomes of a server at each rate: the closed form with its doubt, and the simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.choice.schedule import Range
from simulator.traffic.demand import Requests
from simulator.traffic.doubt import Doubt
from simulator.traffic.pair import Pair
from simulator.traffic.policy import Policy
from simulator.traffic.simulation_result import LatencyTargets, SimulationResult
from simulator.traffic.steady import Steady

# The interval that is printed holds this share.
_ENDS = (0.05, 0.95)
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class TrafficRequest:
    """What is asked of a server.

    pair: with and without speculation.
    rates: requests a second.
    doubt: of the pair; None: it is taken as certain.
    promise: what is promised to requests.
    arrivals: from a rate to requests to simulate; None: nothing is simulated.
    seed: of the simulation.
    """

    pair: Pair
    rates: tuple[float, ...]
    doubt: Doubt | None = None
    promise: LatencyTargets | None = None
    arrivals: Callable[[float], Requests] | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A rate, with speculation or without.

    gamma: drafted tokens a block; 0: without.
    state: of this rate alone.
    tokens_per_second: of all requests; where the rate is too high, of as many as are borne.
    token_seconds: the interval of the state's; None: it is certain.
    unborne: draws under which the server does not bear the rate.
    """

    rate: float
    gamma: int
    state: Steady
    tokens_per_second: float
    token_seconds: Interval | None = None
    unborne: int = 0

    @property
    def stable(self) -> bool:
        """Whether the server bears the rate."""
        return bool(self.state.stable[0])


@dataclass(frozen=True, slots=True)
class Simulated:
    """The same arrivals served under one policy.

    policy: none, fixed, schedule or request.
    """

    rate: float
    policy: str
    served: SimulationResult


@dataclass(frozen=True, slots=True)
class Traffic:
    """The answer.

    rows: two for each rate, with and without.
    most, max_rate_without: requests a second that the server bears at most.
    break_even: the rate above which speculation loses; 0: always, None: never.
    kept: most requests a second that keep the promise, with and without; None: none is made.
    schedule: γ by batch under which each step serves most.
    simulated: of each rate that is borne with and without, by policy.
    draws: of what is not known, from which intervals are; 0: all is certain.
    max_rate_interval, max_rate_without_interval, break_even_interval: None where certain.
    """

    rows: tuple[Row, ...]
    max_rate: float
    max_rate_without: float
    break_even: float | None
    kept: tuple[float, float] | None
    schedule: tuple[Range, ...]
    simulated: tuple[Simulated, ...] = ()
    draws: int = 0
    max_rate_interval: Interval | None = None
    max_rate_without_interval: Interval | None = None
    break_even_interval: Interval | None = None


def answer(request: TrafficRequest) -> Traffic:
    """Returns what becomes of the server.

    Raises:
      ValueError: if a rate is no positive number or the server bears none of them either way, if
        its cache does not hold a request, or if not even an idle server keeps the promise.
    """
    pair, rates = request.pair, np.array(request.rates)
    most, without = float(pair.max_rate), float(pair.max_rate_without)
    if not 0 < rates.min() < max(most, without):
        raise ValueError(
            f"rate must lie between 0 and {max(most, without):.4g} requests a second, "
            f"the most that the server bears, got {rates.min():g}"
        )
    crossing = float(pair.break_even())
    kept = None if request.promise is None else pair.keeping(request.promise)
    near = min(crossing, 0.999 * most) or 1e-3 * most
    *gammas, at_crossing = pair.best([*rates, near]).tolist()
    rows = [
        Row(rate, gamma, state, min(rate, float(state.max_rate)) * pair.demand.output_tokens)
        for rate, best in zip(request.rates, gammas, strict=True)
        for gamma in (0, best)
        for state in [pair.under(gamma, rate)]
    ]
    certain = Traffic(
        rows=tuple(rows),
        max_rate=most,
        max_rate_without=without,
        break_even=None if np.isinf(crossing) else crossing,
        kept=kept,
        schedule=Policy.scheduled(pair.drafting, pair.demand).ranges,
        simulated=tuple(each for rate in request.rates for each in _simulated(request, rate)),
    )
    return certain if request.doubt is None else _doubted(request, certain, at_crossing)


def _doubted(request: TrafficRequest, certain: Traffic, at_crossing: int) -> Traffic:
    """Returns the answer with intervals: every draw serves with and without, at all batches."""
    pair, doubt = request.pair, request.doubt
    assert doubt is not None
    drafting, alone = doubt.of(pair.drafting), doubt.of(pair.baseline)
    # Which γ bears most, or is best, hardly depends on the draw.
    drawn = Pair(drafting, alone, pair.demand, (int(pair.max_rate_gamma),))
    rates = sorted({row.rate for row in certain.rows})
    times = {gamma: drawn.under(gamma, rates) for gamma in {row.gamma for row in certain.rows}}
    rows = [
        replace(row, token_seconds=_interval(found), unborne=int(np.isinf(found).sum()))
        for row in certain.rows
        for found in [times[row.gamma].token_seconds[:, rates.index(row.rate)]]
    ]
    crossing = replace(drawn, gammas=(at_crossing,)).break_even()
    return replace(
        certain,
        rows=tuple(rows),
        draws=len(doubt.logits),
        max_rate_interval=_interval(drawn.max_rate),
        max_rate_without_interval=_interval(drawn.max_rate_without),
        break_even_interval=_interval(crossing),
    )


def _interval(values: NDArray[np.float64]) -> Interval:
    low, high = np.quantile(values, _ENDS, method="nearest").tolist()
    return low, high


def _simulated(request: TrafficRequest, rate: float) -> list[Simulated]:
    if request.arrivals is None:
        return []
    from simulator.traffic.events import serve

    pair = request.pair
    requests = request.arrivals(rate)
    ways = {"none": (pair.baseline, Policy.fixed(pair.baseline, 0))}
    if rate < pair.max_rate:
        server, gamma = pair.drafting, int(pair.best([rate])[0])
        ways["fixed"] = (server, Policy.fixed(server, gamma))
        ways["schedule"] = (server, Policy.scheduled(server, pair.demand))
        if server.blocks.kinds > 1:
            ways["request"] = (server, Policy.by_request(server, pair.demand))
    if rate >= pair.max_rate_without:
        del ways["none"]
    return [
        Simulated(rate, name, serve(server, requests, policy, seed=request.seed))
        for name, (server, policy) in ways.items()
    ]
