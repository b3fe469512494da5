"""Replicas of one server that share arrivals in turn, and what they promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.arguments import Floats, integer
from simulator.traffic.demand import LatencyTargets
from simulator.traffic.limit import REQUESTS, closed_limit, in_turn, share_met, simulated_limit
from simulator.traffic.pair import Pair
from simulator.traffic.population import max_rate
from simulator.traffic.server import Doubt, Server
from simulator.traffic.steady import steady

# Draws are counted up to this many times the most probable number of replicas.
_MANY = 4


@dataclass(frozen=True)
class Replica:
    """One deployment of a model on some GPUs, with and without speculation.

    gpus: GPUs of the replica, the product of the ways in which they share work; `tp`, `ep` and `dp`
      say how many share each layer, the experts, and the requests.
    dtype: number format of the weights; None: the configuration's. draft: the draft's name.
    batch_limit: most sequences decoded together. price: of a GPU and an hour; None: not stated.
    doubt: returns random draws of costs and acceptance, or None if both are exact.
    basis: the evidence behind costs and acceptance in words, then notes on it.
    """

    gpu: str
    gpus: int
    pair: Pair = field(repr=False)
    tp: int = 1
    ep: int = 1
    dp: int = 1
    dtype: str | None = None
    draft: str | None = None
    price: float | None = None
    doubt: Callable[[], Doubt | None] = field(default=lambda: None, repr=False)
    basis: tuple[str, ...] = ()

    @cached_property
    def drawn(self) -> Doubt | None:
        """Draws of costs and acceptance; None: all is exact."""
        return self.doubt()

    @cached_property
    def drawn_pair(self) -> Pair | None:
        """The servers at each draw; None: all is exact."""
        return None if self.drawn is None else self.pair.drawn(self.drawn)

    @property
    def batch_limit(self) -> int:
        return self.pair.drafting.slots

    @property
    def machine(self) -> tuple[str, int, int, int, str | None]:
        """GPU, TP, EP, DP and number format: all but the draft and the batch limit."""
        return self.gpu, self.tp, self.ep, self.dp, self.dtype

    def limited(self, slots: int) -> Replica:
        """Returns the replica with a smaller batch limit."""
        drafting, baseline = (
            replace(server, seconds=server.seconds[..., :slots, :])
            for server in (self.pair.drafting, self.pair.baseline)
        )

        def doubt() -> Doubt | None:
            drawn = self.drawn
            return None if drawn is None else replace(drawn, seconds=drawn.seconds[:, :slots])

        pair = replace(self.pair, drafting=drafting, baseline=baseline)
        return replace(self, pair=pair, doubt=doubt)


@dataclass(frozen=True)
class Goal:
    """The load and what it is promised.

    rate: requests per second of all replicas.
    share: share of requests that must meet the targets.
    max_gpus: most GPUs that a fleet may have.
    requests, seed: requests that each simulated replica serves, and the seed of their arrivals.
    """

    rate: float
    targets: LatencyTargets
    share: float = 0.95
    max_gpus: int = 1024
    requests: int = REQUESTS
    seed: int = 0

    def __post_init__(self) -> None:
        integer("max_gpus", self.max_gpus, at_least=1)
        if not 0 < self.rate < inf:
            raise ValueError(f"rate must lie above 0 and be finite, got {self.rate:g}")
        if not 0 < self.share < 1:
            raise ValueError(f"share must lie between 0 and 1, got {self.share:g}")
        if self.targets == LatencyTargets():
            raise ValueError("targets must have a TTFT or a TPOT, got none")


@dataclass(frozen=True)
class Fleet:
    """Equal replicas under a load.

    gamma: drafted tokens per block; 0: started without a draft.
    replicas: how many there are.
    """

    replica: Replica
    gamma: int
    replicas: int
    goal: Goal

    @property
    def gpus(self) -> int:
        return self.replicas * self.replica.gpus

    @property
    def draft(self) -> str | None:
        """The draft's name; None without speculation."""
        return self.replica.draft if self.gamma > 0 else None

    @property
    def price(self) -> float | None:
        """Money for an hour; None if no price is stated."""
        price = self.replica.price
        return None if price is None else self.gpus * price

    @property
    def spent(self) -> float:
        """The money for an hour, or the GPUs if no price is stated: the search makes it least."""
        return float(self.gpus) if self.price is None else self.price

    @cached_property
    def closed_limit(self) -> float:
        """Requests per second of all replicas up to which `Goal.share` is kept, in closed form."""
        server, goal = self.replica.pair.server(self.gamma), self.goal
        demand = in_turn(self.replica.pair.demand, self.replicas)
        limit = closed_limit(server, demand, self.gamma, goal.targets, goal.share)
        return self.replicas * limit

    @cached_property
    def limit(self) -> float:
        """Requests per second of all replicas up to which `Goal.share` is kept, by simulation."""
        server, goal = self.replica.pair.server(self.gamma), self.goal
        demand = in_turn(self.replica.pair.demand, self.replicas)
        load = demand, self.gamma, goal.targets, goal.share
        drawn = goal.requests, goal.seed

        def simulated() -> float:
            return simulated_limit(server, *load, requests=goal.requests, seed=goal.seed)

        # It does not depend on the rate of the goal, which a page's slider changes.
        return self.replicas * server.derived((*load, *drawn), simulated)

    @property
    def share_within(self) -> float:
        """Share of requests that meet the targets, in a simulation of one replica."""
        return self._share[0]

    @cached_property
    def _share(self) -> tuple[float, float]:
        """`share_within` and its standard error, at least as large as with independent requests."""
        pair, goal, rate = self.replica.pair, self.goal, self.goal.rate / self.replicas
        server, variance = pair.server(self.gamma), goal.share * (1 - goal.share) / goal.requests
        if goal.targets.first_seconds is None and rate >= max_rate(server, pair.demand, self.gamma):
            return 0.0, sqrt(variance)
        load = in_turn(pair.demand, self.replicas), self.gamma, goal.targets, rate
        share, error = share_met(server, *load, goal.requests, goal.seed)
        return share, max(sqrt(variance), error)

    @property
    def keeps(self) -> bool:
        """Whether a simulation keeps the share, with two standard errors in reserve."""
        share, error = self._share
        return share >= min(self.goal.share + 2 * error, (1 + self.goal.share) / 2)

    @property
    def most_drawn(self) -> int:
        """The largest number of GPUs that `drawn_gpus` counts."""
        most = self.goal.max_gpus // self.replica.gpus
        return self.replica.gpus * min(_MANY * self.replicas, most)

    @cached_property
    def scale(self) -> float:
        """Factor by which the closed form's limit exceeds the simulation's.

        Draws are counted in closed form. Their rate is multiplied by it, so that the most probable
        values give the fleet's own number.
        """
        return self.closed_limit / self.limit if self.limit > 0 else 1.0

    @cached_property
    def drawn_gpus(self) -> Floats | None:
        """GPUs that each draw needs; infinite: more than `most_drawn`. None: all is exact."""
        if (doubt := self.replica.drawn) is None or (server := self.drawn_server) is None:
            return None
        pair, gamma, rate = self.replica.pair, self.gamma, self.scale * self.goal.rate
        left, needed = np.arange(len(doubt.seconds)), np.full(len(doubt.seconds), inf)
        fewest = max(1, ceil(rate / float(np.max(max_rate(server, pair.demand, gamma)))))
        for replicas in range(fewest, self.most_drawn // self.replica.gpus + 1):
            kept = self._kept(server, replicas, self.scale)
            needed[left[kept & np.isinf(needed[left])]] = replicas * self.replica.gpus
            if len(more := np.flatnonzero(np.isinf(needed))) == 0:
                break
            if 2 * len(more) < len(left):
                left, some = more, replace(doubt, seconds=doubt.seconds[more])
                server = pair.drawn(some).server(gamma)
        return needed

    @property
    def drawn_server(self) -> Server | None:
        """The server at each draw, without results of other rates, which are large."""
        pair = self.replica.drawn_pair
        return None if pair is None else replace(pair.server(self.gamma))

    def _kept(self, server: Server, replicas: int, scale: float) -> NDArray[np.bool_]:
        """Returns whether so many replicas keep the targets in each draw of a server."""
        rate, demand = scale * self.goal.rate, in_turn(self.replica.pair.demand, replicas)
        share = steady(server, demand, self.gamma, rate / replicas).share(self.goal.targets)
        kept: NDArray[np.bool_] = share[..., 0] >= self.goal.share
        return kept

    def sufficient(self, replicas: int, *, scale: float | None = None) -> float | None:
        """Returns the probability that so many replicas keep the targets; None: all is exact.

        scale: None: `Fleet.scale`, which takes a simulation.
        """
        if (server := self.drawn_server) is None:
            return None
        return float(self._kept(server, replicas, self.scale if scale is None else scale).mean())

    @cached_property
    def probability(self) -> float | None:
        """Probability that the fleet keeps the targets; None: all is exact."""
        return self.sufficient(self.replicas)

    def of(self, replicas: int) -> Fleet:
        """Returns the fleet with another number of replicas."""
        return replace(self, replicas=replicas)
