"""Times of a fleet's requests in a simulation of all replicas, and the limit of the fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from simulator.numerics.arguments import Floats
from simulator.traffic.demand import LatencyTargets, Requests
from simulator.traffic.events import serve
from simulator.traffic.fleet import Fleet
from simulator.traffic.limit import in_turn
from simulator.traffic.population import max_rate
from simulator.traffic.steady import steady

PERCENTILES = (50, 95, 99)
Limit = Literal["TTFT", "TPOT", "memory", "capacity"]
# Rate that is looked at, over the limit.
_FURTHER = 1.02
# A server with this share of the most sequences is full: lengths vary, and so does the cache.
_FULL = 0.95
# Rates at which the limit of each draw is looked for, over the most probable limit.
_AROUND = np.geomspace(0.1, 4.0, 75)


@dataclass(frozen=True, slots=True)
class Promise:
    """Times of the requests of simulated replicas.

    share, first_share, token_share: shares of requests within both targets, and within each.
    first_seconds, token_seconds: percentiles (`PERCENTILES`) of the time to the first token, and
      of the time between tokens.
    requests: how many requests were served.
    """

    share: float
    first_share: float
    token_share: float
    first_seconds: tuple[float, ...]
    token_seconds: tuple[float, ...]
    requests: int


def promise(fleet: Fleet, *, requests: int, seed: int) -> Promise:
    """Returns the times of Poisson arrivals that go to the fleet's replicas in turn.

    requests: how many arrive at all replicas together.
    """
    goal, pair = fleet.goal, fleet.replica.pair
    arrived = pair.demand.arrivals(goal.rate, requests, seed=seed)
    first, token = [], []
    for place in range(fleet.replicas):
        part = slice(place, None, fleet.replicas)
        taken = Requests(
            arrived.seconds[part], arrived.prompt_tokens[part], arrived.output_tokens[part]
        )
        result = serve(pair.server(fleet.gamma), taken, fleet.gamma, seed=seed + place)
        first.append(result.first_seconds)
        token.append(result.token_seconds)
    firsts, tokens = np.concatenate(first), np.concatenate(token)
    targets = goal.targets
    only_first = LatencyTargets(first_seconds=targets.first_seconds)
    only_token = LatencyTargets(token_seconds=targets.token_seconds)
    return Promise(
        float(targets.met(firsts, tokens).mean()),
        float(only_first.met(firsts, tokens).mean()),
        float(only_token.met(firsts, tokens).mean()),
        _percentiles(firsts),
        _percentiles(tokens),
        requests,
    )


def binding(fleet: Fleet) -> Limit:
    """Returns what a slightly higher rate than the fleet's limit would miss, by simulation.

    A late first token is the fault of a full server where most late requests found it full.
    """
    pair, goal, gamma = fleet.replica.pair, fleet.goal, fleet.gamma
    server, demand = pair.server(gamma), in_turn(pair.demand, fleet.replicas)
    most, targets = server.max_batch(demand), goal.targets
    full: Limit = "memory" if most < server.slots else "capacity"
    rate = _FURTHER * (fleet.limit or goal.rate) / fleet.replicas
    if targets.first_seconds is None and rate >= float(max_rate(server, demand, gamma)):
        return full

    def simulated() -> Limit:
        arrived = demand.arrivals(rate, goal.requests, seed=goal.seed)
        result = serve(server, arrived, gamma, seed=goal.seed)
        first, token = targets.first_seconds or inf, targets.token_seconds or inf
        late, slow = result.first_seconds > first, result.token_seconds > token
        if slow.sum() > late.sum():
            return "TPOT"
        ended = np.searchsorted(np.sort(result.last), arrived.seconds)
        found_full = (np.arange(len(ended)) - ended >= _FULL * most)[-len(late) :]
        return "TTFT" if late.any() and found_full[late].mean() < 0.5 else full

    # Its answer is part of several texts.
    load = (demand, demand.recorded, gamma, targets, rate, goal.requests, goal.seed)
    return server.derived(("binding", *load), simulated)


def limits_at(fleet: Fleet, chances: Sequence[float]) -> list[float] | None:
    """Returns the rates that the fleet keeps with some probabilities; None: nothing is uncertain.

    The closed form gives the limit at each draw of costs and acceptance. It is multiplied by the
    factor by which the simulation's limit exceeds the closed form's at the most probable values.
    """
    pair, goal, gamma, server = fleet.replica.pair, fleet.goal, fleet.gamma, fleet.drawn_server
    if server is None or fleet.closed_limit <= 0:
        return None
    demand = in_turn(pair.demand, fleet.replicas)
    rates = fleet.closed_limit / fleet.replicas * _AROUND
    state = steady(server, demand, gamma, rates)
    kept = state.share(goal.targets) >= goal.share
    failed = np.where(kept.all(axis=-1), len(rates), kept.argmin(axis=-1))
    limits = fleet.limit * np.concatenate([[0.0], _AROUND])[failed]
    rates_kept: list[float] = np.quantile(limits, 1 - np.array(chances)).tolist()
    return rates_kept


def _percentiles(values: Floats) -> tuple[float, ...]:
    timed = values[~np.isnan(values)]
    return tuple(np.percentile(timed, PERCENTILES).tolist()) if len(timed) else ()
