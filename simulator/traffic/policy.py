"""Policies of a server: one γ, a γ by batch size, or a γ for each kind of request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.choice.advice import NEAR
from simulator.choice.grid import Range, schedule
from simulator.numerics.arguments import Floats
from simulator.traffic.pair import Pair
from simulator.traffic.server import Server, by_batch


@dataclass(frozen=True, slots=True)
class GammaTable:
    """A policy: γ by batch size 1, 2, … and kind of request, shape (slots, kinds)."""

    gammas: NDArray[np.int64]

    @classmethod
    def fixed(cls, server: Server, gamma: int) -> GammaTable:
        """Returns the policy that drafts γ tokens at every batch size."""
        return cls(np.full((server.slots, server.blocks.kinds), gamma))

    @classmethod
    def scheduled(cls, pair: Pair, drawn: Pair | None = None) -> GammaTable:
        """Returns the policy that drafts, at each batch size, the γ advised for fast decoding.

        γ changes only where keeping it would lose more than NEAR. The γ with the shortest time
        minimises every factor of the steady state's distribution, and so the number of requests.

        drawn: draws of the pair; None if nothing is uncertain.
        """
        slots = np.arange(1, pair.drafting.slots + 1)
        spread = None if drawn is None else _gains(drawn)
        gains = pair.captured(_gains(pair), slots)
        advice = dict(enumerate(pair.advised(slots, gains, spread), start=1))
        best = {slot: each.test_gamma or each.gamma for slot, each in advice.items()}
        every, choices = np.concatenate([0 * gains[:1], gains]), np.array([0, *pair.gammas])
        near = (every >= every.max(axis=0) - NEAR).T
        kept = {
            slot: choices[near[slot - 1]].tolist()
            for slot, each in advice.items()
            if not each.measured
        }
        ranges = schedule(best, kept)
        lengths = [each.last_batch - each.first_batch + 1 for each in ranges]
        return cls.alike(np.repeat([each.gamma for each in ranges], lengths), pair.drafting)

    @classmethod
    def alike(cls, gammas: NDArray[np.int64], server: Server) -> GammaTable:
        """Returns the policy that chooses γ by batch size only; gammas: shape (slots,)."""
        return cls(np.repeat(gammas[:, None], server.blocks.kinds, axis=1))

    @classmethod
    def by_request(cls, pair: Pair) -> GammaTable:
        """Returns the policy with the best γ for each kind, as if all requests were of that kind.

        This is an upper bound for engines that adapt γ to a request, because each α is known.
        """
        server = pair.drafting
        slots, gammas = np.arange(1, server.slots + 1)[:, None], np.arange(server.seconds.shape[-1])
        crossed = False if pair.wall is None else pair.wall.crossed(slots, gammas)
        seconds = np.where(crossed, np.inf, server.seconds)
        needed = server.blocks.needed(pair.demand.output_tokens - 1)
        return cls((seconds[:, None, :] * needed[None]).argmin(axis=2))

    @property
    def by_batch(self) -> NDArray[np.int64]:
        """γ by batch size for the first kind of requests, shape (slots,)."""
        return self.gammas[:, 0]

    def ranges(self, most: int) -> tuple[Range, ...]:
        """Returns the γ for each batch size from 1 to `most`, as ranges that servers accept."""
        return schedule(dict(enumerate(self.by_batch[:most].tolist(), start=1)))


def by_rank(pair: Pair, steps: Mapping[int, tuple[float, float]]) -> tuple[Server, GammaTable]:
    """Returns a server that imitates verification by rank, and its policy.

    At each batch size, the policy drafts the γ that emits about as many tokens per step as
    verification by rank. The step's time is scaled so that the time per token agrees, too.

    steps: by batch size, a step's time and its tokens per sequence; linear between batch sizes.
    """
    server, batches = pair.drafting, sorted(steps)
    seconds, tokens = by_batch(batches, [steps[batch] for batch in batches], server.slots).T
    emitted = 1 / (1 / server.blocks.tokens).mean(axis=0)
    gammas = np.abs(emitted - tokens[:, None]).argmin(axis=1)
    scaled, slots = server.seconds.copy(), np.arange(server.slots)
    scaled[slots, gammas] = seconds / tokens * emitted[gammas]
    return replace(server, seconds=scaled), GammaTable.alike(gammas, server)


def _gains(pair: Pair) -> Floats:
    """Returns log speed-ups of the time to decode an output, shape (γ, …, slots)."""
    server = pair.drafting
    needed = server.blocks.needed(pair.demand.output_tokens - 1).mean(axis=-2)
    # Outputs of a single token take no step: all γ are alike.
    needed = np.ones_like(needed) if pair.demand.output_tokens == 1 else needed
    times = np.moveaxis(server.seconds * needed[..., None, :], -1, 0)
    return np.asarray(np.log(times[0] / times[np.array(pair.gammas)]))
