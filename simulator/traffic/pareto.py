"""Tokens a second of a GPU against tokens a second of a user: what no other deployment betters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from simulator.traffic.fleet import Replica

# Rates of one replica, as shares of its capacity.
_SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])


@dataclass(frozen=True)
class Point:
    """A replica under one rate.

    gamma: drafted tokens per block; 0: started without a draft.
    rate: requests per second of the replica.
    tokens_per_gpu: tokens per second of all requests, per GPU.
    tokens_per_user: tokens per second of one request, after its first token.
    """

    replica: Replica
    gamma: int
    rate: float
    tokens_per_gpu: float
    tokens_per_user: float


def pareto_front(replicas: Iterable[Replica], *, speculating: bool) -> tuple[Point, ...]:
    """Returns the points that no other point betters in both speeds, the fastest for users first.

    speculating: whether each replica drafts, with any of its γ, or is started without a draft.
    """
    points = [
        Point(replica, gamma, rate, tokens / replica.gpus, user)
        for replica in replicas
        for gamma in (replica.pair.gammas if speculating else (0,))
        for rate, tokens, user in _speeds(replica, gamma)
    ]
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (-point.tokens_per_user, -point.tokens_per_gpu)):
        if not front or point.tokens_per_gpu > front[-1].tokens_per_gpu:
            front.append(point)
    return tuple(front)


def _speeds(replica: Replica, gamma: int) -> list[tuple[float, float, float]]:
    """Returns rates, tokens per second of the replica, and of each request at these rates."""
    pair = replica.pair
    if pair.demand.output_tokens <= 1:
        return []
    rates = _SHARES * float(pair.under(gamma, 1.0).max_rate)
    state = pair.under(gamma, rates)
    tokens = rates * pair.demand.output_tokens
    return list(
        zip(rates.tolist(), tokens.tolist(), (1 / state.token_seconds).tolist(), strict=True)
    )
