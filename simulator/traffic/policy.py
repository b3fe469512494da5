"""Policies of a server (γ by batch size, or also by kind of request), and their simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.choice.advice import NEAR
from simulator.choice.schedule import schedule
from simulator.numerics.arguments import Floats
from simulator.traffic.demand import Requests, SimulationResult
from simulator.traffic.events import serve
from simulator.traffic.pair import Pair
from simulator.traffic.population import max_rate
from simulator.traffic.server import Server, by_batch

# Drafted tokens per block, of all steps or as an array that broadcasts to (slots, kinds).
Gammas = int | NDArray[np.int64]
# A policy's name, the server, and the policy.
Way = tuple[str, Server, Gammas]


def scheduled(pair: Pair, drawn: Pair | None = None) -> NDArray[np.int64]:
    """Returns the γ advised for fast decoding at each batch size, shape (slots, 1).

    γ changes only where keeping it would lose more than NEAR of the speed. The fastest γ at each
    batch size also minimises the mean number of requests in the server.

    drawn: draws of the pair; None if nothing is uncertain.
    """
    slots = np.arange(1, pair.drafting.slots + 1)
    gains = pair.captured(_gains(pair), slots)
    deciding = pair.deciding(drawn)
    advice = dict(enumerate(pair.advised(slots, gains, deciding, _gains), start=1))
    best = {slot: advised.test_gamma or advised.gamma for slot, advised in advice.items()}
    every, choices = np.concatenate([0 * gains[:1], gains]), np.array([0, *pair.gammas])
    near = (every >= every.max(axis=0) + np.log1p(-NEAR)).T
    kept = {
        slot: choices[near[slot - 1]].tolist()
        for slot, advised in advice.items()
        if not advised.measured
    }
    ranges = schedule(best, kept)
    lengths = [part.last_batch - part.first_batch + 1 for part in ranges]
    return np.repeat([part.gamma for part in ranges], lengths)[:, None]


def shortened(pair: Pair) -> Pair:
    """Returns the pair without draft lengths beyond those that are fast at some batch size.

    Every γ up to the longest that was run, or is within NEAR of the fastest at some batch, is kept.
    One that is slower than another at every batch size is slower under any load.
    """
    gains = pair.captured(_gains(pair), np.arange(1, pair.drafting.slots + 1))
    fast = gains >= gains.max(axis=0) + np.log1p(-NEAR)
    longest = pair.gammas[int(np.flatnonzero(fast.any(axis=1)).max())]
    ran = set(pair.gammas) & set[int]().union(*pair.measured.values())
    longest = max(longest, max(ran, default=0))
    kept = tuple(gamma for gamma in pair.gammas if gamma <= longest)
    return replace(pair, drafting=pair.drafting.up_to(longest), gammas=kept)


def by_request(pair: Pair) -> NDArray[np.int64]:
    """Returns the fastest γ at each batch size for each kind of request, shape (slots, kinds).

    It assumes that all requests of the batch are of one kind. An engine that adapts γ to a request
    can gain at most as much, since it must first learn the request's α.
    """
    server = pair.drafting
    slots, gammas = np.arange(1, server.slots + 1)[:, None], np.arange(server.seconds.shape[-1])
    crossed = False if pair.wall is None else pair.wall.crossed(slots, gammas)
    seconds = np.where(crossed, np.inf, server.seconds)
    needed = server.blocks.needed(pair.demand.output_tokens - 1)
    return np.asarray((seconds[:, None, :] * needed[None]).argmin(axis=2))


def by_rank(
    pair: Pair, steps: Mapping[int, tuple[float, float]]
) -> tuple[Server, NDArray[np.int64]]:
    """Returns a server that imitates verification by rank, and its policy, shape (slots, 1).

    With verification by rank, a batch verifies only its likeliest drafted tokens. At each batch
    size, the policy is the γ that emits about as many tokens per step. The time of its step is
    scaled to give the same time per token as verification by rank.

    steps: seconds of a step and its tokens per sequence, by batch size; linear in between.
    """
    server, batches = pair.drafting, sorted(steps)
    seconds, tokens = by_batch(batches, [steps[batch] for batch in batches], server.slots).T
    emitted = 1 / (1 / server.blocks.tokens).mean(axis=0)
    gammas = np.abs(emitted - tokens[:, None]).argmin(axis=1)
    scaled, slots = server.seconds.copy(), np.arange(server.slots)
    scaled[slots, gammas] = seconds / tokens * emitted[gammas]
    return replace(server, seconds=scaled), gammas[:, None]


def one_gamma(pair: Pair, policy: NDArray[np.int64], gamma: int) -> Server:
    """Returns a server whose steps at one γ take, per output, the time of a policy by batch size.

    policy: γ by batch size, shape (slots, 1). gamma: the γ at which the server is then priced.
    """
    server, slots, chosen = pair.drafting, np.arange(len(policy)), policy[:, 0]
    needed = server.blocks.needed(pair.demand.output_tokens - 1).mean(axis=-2)
    steps = np.asarray(needed[..., chosen] / needed[..., [gamma]]) if needed.any() else 1.0
    seconds = server.seconds.copy()
    seconds[..., gamma] = seconds[..., slots, chosen] * steps
    return replace(server, seconds=seconds)


def max_rate_by_batch(pair: Pair, policy: NDArray[np.int64]) -> Floats:
    """Returns the capacity under a policy by batch size, which has one γ once all slots are taken.

    policy: γ by batch size, shape (slots, 1).
    """
    full = int(policy[pair.drafting.max_batch(pair.demand) - 1, 0])
    return max_rate(pair.drafting, pair.demand, full)


def _gains(pair: Pair) -> Floats:
    """Returns log(time to decode an output without drafts / with γ), shape (γ, …, slots)."""
    server = pair.drafting
    needed = server.blocks.needed(pair.demand.output_tokens - 1).mean(axis=-2)
    # Outputs of a single token take no step: all γ are alike.
    needed = np.ones_like(needed) if pair.demand.output_tokens == 1 else needed
    used = [0, *pair.gammas]
    times = np.moveaxis(server.seconds[..., used] * needed[..., None, used], -1, 0)
    return np.asarray(np.log(times[0] / times[1:]))


@dataclass(frozen=True, slots=True)
class Simulated:
    """One simulation: arrivals served under one policy.

    rate: requests per second; 0 for a burst.
    policy: none (no drafts), fixed (one γ), schedule (γ by batch size), request (`by_request`) or
      adaptive (`by_rank`).
    gamma: γ of the policies none (0) and fixed; None for other policies.
    """

    rate: float
    policy: str
    result: SimulationResult
    gamma: int | None = None


def simulations(
    pair: Pair, requests: Requests, schedule: Gammas, *, rate: float, gamma: int, seed: int
) -> list[Simulated]:
    """Returns simulations at a rate, without drafts and by each policy that sustains the rate."""
    ways: list[Way] = [] if rate >= pair.max_rate_without else [("none", pair.server(0), 0)]
    if rate < pair.max_rate:
        ways.append(("fixed", pair.server(gamma), gamma))
        ways.append(("schedule", pair.drafting, schedule))
        if pair.drafting.blocks.kinds > 1:
            ways.append(("request", pair.drafting, by_request(pair)))
        if pair.ranked is not None:
            ways.append(("adaptive", *by_rank(pair, pair.ranked)))
    return _served(ways, requests, rate=rate, seed=seed)


def burst_simulations(
    pair: Pair, requests: Requests, *, drawn: Pair | None, seed: int
) -> tuple[Simulated, ...]:
    """Returns simulations of a burst: without drafts, at the fastest fixed γ, by other policies."""
    ways: list[Way] = [("none", pair.server(0), 0)]
    ways += [("fixed", pair.server(gamma), gamma) for gamma in pair.gammas]
    none, *fixed = _served(ways, requests, seed=seed)
    others: list[Way] = [("schedule", pair.drafting, scheduled(pair, drawn))]
    if pair.ranked is not None:
        others.append(("adaptive", *by_rank(pair, pair.ranked)))
    fastest = min(fixed, key=lambda simulated: simulated.result.seconds)
    return none, fastest, *_served(others, requests, seed=seed)


def _served(
    ways: Iterable[Way], requests: Requests, *, seed: int, rate: float = 0.0
) -> list[Simulated]:
    return [
        Simulated(
            rate,
            policy,
            serve(server, requests, gammas, seed=seed),
            gammas if isinstance(gammas, int) else None,
        )
        for policy, server, gammas in ways
    ]
