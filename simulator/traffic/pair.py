"""A server with and without speculation: both at every rate, and where they cross."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.traffic.demand import Demand
from simulator.traffic.served import Promise
from simulator.traffic.server import Server
from simulator.traffic.steady import Steady, most_rate, steady

# Rates at which both are compared, as shares of the most requests that the one that bears less can.
_SHARES = np.concatenate([np.geomspace(1e-3, 0.1, 16), np.linspace(0.12, 0.999, 80)])


@dataclass(frozen=True, slots=True)
class Pair:
    """One server, with speculation and without.

    drafting: with it.
    alone: without.
    demand: what a request asks.
    gammas: what may be drafted, each at least 1.
    """

    drafting: Server
    alone: Server
    demand: Demand
    gammas: tuple[int, ...]

    def without(self, rate: ArrayLike) -> Steady:
        """Returns the steady states of the target alone."""
        return self.under(0, rate)

    def under(self, gamma: int, rate: ArrayLike) -> Steady:
        """Returns the steady states at one γ; 0: without speculation."""
        server = self.alone if gamma == 0 else self.drafting
        return steady(server, self.demand, gamma, rate)

    def best(self, rate: float) -> int:
        """Returns the γ of the shortest time to a request's last token.

        Where the server bears the rate under none, that under which it bears most.
        """
        found = [self.under(gamma, rate) for gamma in self.gammas]
        times = [float(each.request_seconds(self.demand)[0]) for each in found]
        if not np.isfinite(times).any():
            return self.most_gamma
        return self.gammas[int(np.argmin(times))]

    @property
    def most(self) -> float:
        """Requests a second that it bears at most with speculation, at the best γ for that."""
        return most_rate(self.drafting, self.demand, self.most_gamma)

    @property
    def most_gamma(self) -> int:
        """The γ under which it bears most."""
        return max(self.gammas, key=lambda gamma: most_rate(self.drafting, self.demand, gamma))

    @property
    def most_without(self) -> float:
        """The same without speculation."""
        return most_rate(self.alone, self.demand, 0)

    def break_even(self, gammas: Sequence[int] | None = None) -> float | None:
        """Returns the rate from which on requests take longer with speculation than without.

        Args:
          gammas: what may be drafted; None: all of the pair's.

        Returns:
          0 where they do at any rate; None where they never do.
        """
        tried = self.gammas if gammas is None else tuple(gammas)
        most = max(most_rate(self.drafting, self.demand, gamma) for gamma in tried)
        rates = _SHARES * min(most, self.most_without)
        ways = [self.under(gamma, rates).request_seconds(self.demand) for gamma in tried]
        with np.errstate(invalid="ignore"):
            losses = np.log(np.min(ways, axis=0) / self.without(rates).request_seconds(self.demand))
        losing = np.flatnonzero(losses > 0)
        if len(losing) == 0:
            return None if most >= self.most_without else float(most)
        first = int(losing[0])
        if first == 0:
            return 0.0
        below, above = losses[first - 1], losses[first]
        share = -below / (above - below) if np.isfinite(above) else 1.0
        return float(rates[first - 1] + share * (rates[first] - rates[first - 1]))

    def keeping(self, promise: Promise) -> tuple[float, float]:
        """Returns the most requests a second, with and without, whose means keep a promise.

        Raises:
          ValueError: if not even an idle server keeps it.
        """
        idle = 1e-6 * min(self.most, self.most_without)
        ways: list[Callable[[ArrayLike], Steady]] = [
            partial(self.under, gamma) for gamma in self.gammas
        ]
        kept = max(_keeping(way, promise, idle) for way in ways)
        without = _keeping(self.without, promise, idle)
        if max(kept, without) == 0:
            states = [way(idle) for way in (*ways, self.without)]
            raise ValueError(_unkept(promise, states))
        return kept, without


def _kept(state: Steady, promise: Promise) -> NDArray[np.bool_]:
    """Returns whether the means keep a promise, by rate."""
    first = np.inf if promise.first_seconds is None else promise.first_seconds
    token = np.inf if promise.token_seconds is None else promise.token_seconds
    return np.asarray(
        state.stable & (state.first_seconds <= first) & (state.token_seconds <= token)
    )


def _keeping(way: Callable[[ArrayLike], Steady], promise: Promise, idle: float) -> float:
    """Returns the largest rate that keeps a promise, to a thousandth; 0: none."""
    if not _kept(way(idle), promise)[0]:
        return 0.0
    low, high = idle, way(idle).most
    while high - low > 1e-3 * high:
        rates = np.linspace(low, high, 34)[1:-1]
        kept = _kept(way(rates), promise)
        failed = int(kept.argmin()) if not kept.all() else len(rates)
        edges = np.concatenate([[low], rates, [high]])
        low, high = float(edges[failed]), float(edges[failed + 1])
    return low


def _unkept(promise: Promise, states: Sequence[Steady]) -> str:
    """Returns which part of a promise not even an idle server keeps."""
    parts = {
        "ttft": (promise.first_seconds, min(float(each.first_seconds[0]) for each in states)),
        "tpot": (promise.token_seconds, min(float(each.token_seconds[0]) for each in states)),
    }
    for name, (asked, least) in parts.items():
        if asked is not None and asked < least:
            return (
                f"slo {name} must be at least {1e3 * least:.3g} ms, what an idle server takes, "
                f"got {1e3 * asked:g}"
            )
    return "slo must be kept by an idle server with or without speculation, got one that neither is"
