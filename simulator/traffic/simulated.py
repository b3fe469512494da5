"""Simulations of `specplan traffic`: arrivals at a rate, or a burst, under several policies."""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.traffic.demand import Requests, SimulationResult
from simulator.traffic.events import serve
from simulator.traffic.pair import Pair
from simulator.traffic.policy import GammaTable, by_rank
from simulator.traffic.server import Server

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
    """Returns the simulations of a rate, without drafts and under each policy that sustains it."""
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
    """Returns simulations of a burst: no drafts, the best fixed γ, γ by batch, and by rank.

    The best fixed γ ends the burst first. With γ by batch, drafts grow as requests end.
    """
    none, *fixed = (
        replace(
            _served("fixed" if gamma else "none", _fixed(pair, gamma), requests, seed=seed),
            gamma=gamma,
        )
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
    policy: str, way: Way, requests: Requests, *, seed: int, rate: float = 0.0
) -> Simulated:
    return Simulated(rate, policy, serve(way[0], requests, way[1], seed=seed))
