"""What becomes of a server at each rate: the closed form with its doubt, and the simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulator.choice.schedule import Range
from simulator.traffic.demand import Requests
from simulator.traffic.doubt import Doubt
from simulator.traffic.events import serve
from simulator.traffic.pair import Pair
from simulator.traffic.policy import Policy
from simulator.traffic.served import Promise, Served
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
    promise: Promise | None = None
    arrivals: Callable[[float], Requests] | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A rate, with speculation or without.

    gamma: drafted tokens a block; 0: without.
    state: of this rate alone.
    tokens_per_second: of all requests; where the rate is too high, of as many as are borne.
    token_seconds: the interval of the state's; None: it is certain.
    """

    rate: float
    gamma: int
    state: Steady
    tokens_per_second: float
    token_seconds: Interval | None = None

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
    served: Served


@dataclass(frozen=True, slots=True)
class Traffic:
    """The answer.

    rows: two for each rate, with and without.
    most, most_without: requests a second that the server bears at most.
    break_even: the rate above which speculation loses; 0: always, None: never.
    most_interval, most_without_interval, break_even_interval: None where certain, or none.
    kept: most requests a second that keep the promise, with and without; None: none is made.
    schedule: γ by batch under which each step serves most.
    simulated: of each rate that is borne with and without, by policy.
    """

    rows: tuple[Row, ...]
    most: float
    most_without: float
    break_even: float | None
    most_interval: Interval | None
    most_without_interval: Interval | None
    break_even_interval: Interval | None
    kept: tuple[float, float] | None
    schedule: tuple[Range, ...]
    simulated: tuple[Simulated, ...] = ()


def answer(request: TrafficRequest) -> Traffic:
    """Returns what becomes of the server.

    Raises:
      ValueError: if a rate is no positive number or the server bears none of them either way, if
        its cache does not hold a request, or if not even an idle server keeps the promise.
    """
    pair = request.pair
    most, without = pair.most, pair.most_without
    least = min(request.rates)
    if not 0 < least < max(most, without):
        raise ValueError(
            f"rate must lie between 0 and {max(most, without):.4g} requests a second, "
            f"the most that the server bears, got {least:g}"
        )
    break_even = pair.break_even()
    kept = None if request.promise is None else pair.keeping(request.promise)
    drawn = _Drawn.of(request.doubt, pair)
    return Traffic(
        rows=_rows(pair, drawn, request.rates),
        most=most,
        most_without=without,
        break_even=break_even,
        most_interval=drawn.interval([each.most for each in drawn.pairs]),
        most_without_interval=drawn.interval([each.most_without for each in drawn.pairs]),
        break_even_interval=_break_even_interval(pair, drawn, break_even),
        kept=kept,
        schedule=Policy.scheduled(pair.drafting, pair.demand).ranges,
        simulated=tuple(each for rate in request.rates for each in _simulated(request, rate)),
    )


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What the pair may be; none where it is certain."""

    pairs: tuple[Pair, ...]

    @classmethod
    def of(cls, doubt: Doubt | None, pair: Pair) -> _Drawn:
        if doubt is None:
            return cls(())
        servers = zip(doubt.servers(pair.drafting), doubt.servers(pair.alone), strict=True)
        # Which γ bears most hardly depends on the draw.
        gammas = (pair.most_gamma,)
        return cls(tuple(Pair(*each, pair.demand, gammas) for each in servers))

    def interval(self, values: list[float]) -> Interval | None:
        """Returns the ends of 90 % of the values; None where there is none, or it is not borne."""
        if not values:
            return None
        low, high = np.quantile(values, _ENDS, method="nearest").tolist()
        return low, high


def _rows(pair: Pair, drawn: _Drawn, rates: tuple[float, ...]) -> tuple[Row, ...]:
    gammas = [pair.best(rate) for rate in rates]
    times = {
        gamma: [each.under(gamma, rates).token_seconds.tolist() for each in drawn.pairs]
        for gamma in {0, *gammas}
    }
    return tuple(
        Row(
            rate,
            drafted,
            state,
            min(rate, state.most) * pair.demand.output_tokens,
            drawn.interval([each[place] for each in times[drafted]]),
        )
        for place, (rate, gamma) in enumerate(zip(rates, gammas, strict=True))
        for drafted, state in ((0, pair.under(0, rate)), (gamma, pair.under(gamma, rate)))
    )


def _break_even_interval(
    pair: Pair, drawn: _Drawn, break_even: float | None
) -> Interval | None:
    """Returns the interval of the crossing at the γ that is best there; infinite: never."""
    if break_even is None:
        return None
    near = min(break_even, 0.999 * pair.most) or 1e-3 * pair.most
    gamma = pair.best(near)
    found = [each.break_even([gamma]) for each in drawn.pairs]
    return drawn.interval([np.inf if each is None else each for each in found])


def _simulated(request: TrafficRequest, rate: float) -> list[Simulated]:
    pair = request.pair
    if request.arrivals is None:
        return []
    requests = request.arrivals(rate)
    ways = {"none": (pair.alone, Policy.fixed(pair.alone, 0))}
    if rate < pair.most:
        server, gamma = pair.drafting, pair.best(rate)
        ways["fixed"] = (server, Policy.fixed(server, gamma))
        ways["schedule"] = (server, Policy.scheduled(server, pair.demand))
        if server.blocks.kinds > 1:
            ways["request"] = (server, Policy.by_request(server, pair.demand))
    if rate >= pair.most_without:
        del ways["none"]
    return [
        Simulated(rate, name, serve(server, requests, policy, seed=request.seed))
        for name, (server, policy) in ways.items()
    ]
