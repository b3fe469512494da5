"""Times of a fleet's requests in a simulation of all replicas, and the limit of the fleet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from simulator.numerics.arguments import Floats
from simulator.traffic.demand import LatencyTargets, Requests
from simulator.traffic.events import serve
from simulator.traffic.fleet import Fleet
from simulator.traffic.limit import in_turn
from simulator.traffic.steady import steady

PERCENTILES = (50, 95, 99)
Limit = Literal["TTFT", "TPOT", "memory", "capacity"]
# Rate that is looked at, over the limit.
_FURTHER = 1.02
# Probability of a full server above which requests miss the first token's target by waiting.
_LINE = 0.01


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
    """Returns what a slightly higher rate than the fleet's limit would miss, in closed form."""
    pair, goal, gamma = fleet.replica.pair, fleet.goal, fleet.gamma
    server, demand = pair.server(gamma), in_turn(pair.demand, fleet.replicas)
    full: Limit = "memory" if server.max_batch(demand) < server.slots else "capacity"
    state = steady(server, demand, gamma, _FURTHER * fleet.closed_limit / fleet.replicas)
    if not state.stable[0]:
        return full
    spread = state.spread
    shares = spread.first_within(goal.targets)[0], spread.token_within(goal.targets)[0]
    if shares[1] <= shares[0]:
        return "TPOT"
    return full if spread.line_share[0] > _LINE else "TTFT"


def _percentiles(values: Floats) -> tuple[float, ...]:
    timed = values[~np.isnan(values)]
    return tuple(np.percentile(timed, PERCENTILES).tolist()) if len(timed) else ()
