"""A server with and without speculation: both at every rate, and where they cross."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.traffic.demand import Demand
from simulator.traffic.population import Floats
from simulator.traffic.server import Server
from simulator.traffic.simulation_result import LatencyTargets
from simulator.traffic.steady import Steady, max_rate, steady

# Rates at which both are compared, as shares of the most requests that the one that bears less can.
_SHARES = np.concatenate([np.geomspace(1e-3, 0.1, 16), np.linspace(0.12, 0.999, 80)])
# Of these, some are compared first, and then those about the first that loses.
_STRIDE = 8
_COARSE = np.array([*range(0, len(_SHARES), _STRIDE), len(_SHARES) - 1])


@dataclass(frozen=True, slots=True)
class Pair:
    """One server, with speculation and without.

    drafting: with it.
    baseline: the same server without speculation.
    demand: what a request asks.
    gammas: what may be drafted, each at least 1.
    """

    drafting: Server
    baseline: Server
    demand: Demand
    gammas: tuple[int, ...]

    def without(self, rate: ArrayLike) -> Steady:
        """Returns the steady states of the target alone."""
        return self.under(0, rate)

    def under(self, gamma: int | Sequence[int], rate: ArrayLike) -> Steady:
        """Returns the steady states at one γ or several; 0: without speculation."""
        server = self.baseline if gamma == 0 else self.drafting
        return steady(server, self.demand, gamma, rate)

    def best(self, rate: ArrayLike) -> NDArray[np.int64]:
        """Returns the γ of the shortest time to a request's last token, by rate.

        Where the server bears the rate under none, that under which it bears most.
        """
        found = self.under(self.gammas, rate)
        times = found.request_seconds(self.demand)
        least = np.where(np.isfinite(times).any(axis=0), times, -found.max_rate[:, None])
        return np.asarray(np.array(self.gammas)[least.argmin(axis=0)])

    @property
    def max_rate(self) -> Floats:
        """Requests a second that it bears at most with speculation, at the best γ for that."""
        return np.asarray(max_rate(self.drafting, self.demand, self.gammas).max(axis=0))[()]

    @property
    def max_rate_gamma(self) -> int:
        """The γ under which it bears most."""
        return self.gammas[int(max_rate(self.drafting, self.demand, self.gammas).argmax())]

    @property
    def max_rate_without(self) -> Floats:
        """The same without speculation."""
        return max_rate(self.baseline, self.demand, 0)

    def break_even(self) -> Floats:
        """Returns the rate from which on requests take longer with speculation than without.

        0 where they do at any rate, infinite where they never do.
        """
        most, without = self.max_rate, self.max_rate_without
        rates = _SHARES * np.minimum(most, without)[..., None]
        coarse = (self._losses(rates[..., _COARSE]) > 0).argmax(axis=-1)
        start = _COARSE[np.maximum(coarse - 1, 0)]
        near = np.minimum(start[..., None] + np.arange(_STRIDE + 1), len(_SHARES) - 1)
        rates = np.take_along_axis(rates, near, -1)
        losses = self._losses(rates)
        losing = losses > 0
        first = losing.argmax(axis=-1)[..., None]
        places = np.maximum(first - 1, 0)
        below, above = (np.take_along_axis(losses, each, -1) for each in (places, first))
        low, high = (np.take_along_axis(rates, each, -1) for each in (places, first))
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(np.isfinite(above), -below / (above - below), 1.0)
            crossing = np.where(first == 0, 0.0, low + share * (high - low))[..., 0]
        never = np.where(most < without, most, np.inf)
        return np.where(losing.any(axis=-1), crossing, never)[()]

    def _losses(self, rates: Floats) -> Floats:
        """Returns the logarithm of how much longer requests take with speculation, by rate."""
        ways = self.under(self.gammas, rates).request_seconds(self.demand).min(axis=0)
        return np.asarray(np.log(ways / self.without(rates).request_seconds(self.demand)))

    def keeping(self, promise: LatencyTargets) -> tuple[float, float]:
        """Returns the most requests a second, with and without, whose means keep a promise.

        Raises:
          ValueError: if not even an idle server keeps it.
        """
        idle = 1e-6 * float(min(self.max_rate, self.max_rate_without))
        ways = (partial(self.under, self.gammas), partial(steady, self.baseline, self.demand, [0]))
        kept, without = (_keeping(way, promise, idle) for way in ways)
        if max(kept, without) == 0:
            raise ValueError(_unkept(promise, [way(idle) for way in ways]))
        return kept, without


def _kept(state: Steady, promise: LatencyTargets) -> NDArray[np.bool_]:
    """Returns whether the means keep a promise at any γ, by rate."""
    first = np.inf if promise.first_seconds is None else promise.first_seconds
    token = np.inf if promise.token_seconds is None else promise.token_seconds
    kept = state.stable & (state.first_seconds <= first) & ~(state.token_seconds > token)
    return np.asarray(kept.any(axis=0))


def _keeping(way: Callable[[ArrayLike], Steady], promise: LatencyTargets, idle: float) -> float:
    """Returns the largest rate that keeps a promise, to a thousandth; 0: none."""
    if not _kept(way(idle), promise)[0]:
        return 0.0
    low, high = idle, float(way(idle).max_rate.max())
    while high - low > 1e-3 * high:
        rates = np.linspace(low, high, 34)[1:-1]
        kept = _kept(way(rates), promise)
        failed = int(kept.argmin()) if not kept.all() else len(rates)
        edges = np.concatenate([[low], rates, [high]])
        low, high = float(edges[failed]), float(edges[failed + 1])
    return low


def _unkept(promise: LatencyTargets, states: Sequence[Steady]) -> str:
    """Returns which part of a promise not even an idle server keeps."""
    parts = {
        "ttft": (promise.first_seconds, min(float(each.first_seconds.min()) for each in states)),
        "tpot": (promise.token_seconds, min(float(each.token_seconds.min()) for each in states)),
    }
    for name, (asked, least) in parts.items():
        if asked is not None and asked < least:
            return (
                f"slo {name} must be at least {1e3 * least:.3g} ms, what an idle server takes, "
                f"got {1e3 * asked:g}"
            )
    return "slo must be kept by an idle server with or without speculation, got one that neither is"
