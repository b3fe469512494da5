"""Policies: one γ, a γ by batch, or a γ for each kind of request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.choice.schedule import Range, schedule
from simulator.traffic.demand import Demand
from simulator.traffic.pair import Pair, advised
from simulator.traffic.population import Floats
from simulator.traffic.server import Server


@dataclass(frozen=True, slots=True)
class GammaTable:
    """A policy: γ by batch and kind of request, shape (slots, kinds)."""

    gammas: NDArray[np.int64]

    @classmethod
    def fixed(cls, server: Server, gamma: int) -> GammaTable:
        """Returns the policy that drafts γ tokens at any batch."""
        return cls(np.full((server.slots, server.blocks.kinds), gamma))

    @classmethod
    def scheduled(cls, pair: Pair, drawn: Pair | None = None) -> GammaTable:
        """Returns the advised γ at every batch, by the time to decode an output.

        The γ with the shortest time minimises every factor of the steady state's distribution, and
        so the number of requests in the server.

        Args:
          pair: the server with and without speculation.
          drawn: draws of the pair; None if nothing is uncertain.
        """
        slots = np.arange(1, pair.drafting.slots + 1)
        spread = None if drawn is None else _gains(drawn)
        gains = pair.captured(_gains(pair), slots)
        best = [each.test_gamma or each.gamma for each in advised(pair, slots, gains, spread)]
        return cls(np.repeat(np.array(best)[:, None], pair.drafting.blocks.kinds, axis=1))

    @classmethod
    def by_request(cls, server: Server, demand: Demand) -> GammaTable:
        """Returns for each kind of request the γ that is best if all requests are of that kind.

        This is an upper bound for engines that adapt γ to a request, since α is known at once.
        """
        needed = server.blocks.needed(demand.output_tokens - 1)
        return cls((server.seconds[:, None, :] * needed[None]).argmin(axis=2))

    @property
    def by_batch(self) -> NDArray[np.int64]:
        """γ by batch, of requests of the first kind, shape (slots,)."""
        return self.gammas[:, 0]

    def ranges(self, most: int) -> tuple[Range, ...]:
        """Returns γ by batch, from 1 to `most`, as ranges that servers accept."""
        return schedule(dict(enumerate(self.by_batch[:most].tolist(), start=1)))


def _gains(pair: Pair) -> Floats:
    """Returns log speed-ups of decoding an output, shape (γ, …, slots)."""
    server = pair.drafting
    needed = server.blocks.needed(pair.demand.output_tokens - 1).mean(axis=-2)
    # Outputs of a single token take no step: all γ are alike.
    needed = np.ones_like(needed) if pair.demand.output_tokens == 1 else needed
    times = np.moveaxis(server.seconds * needed[..., None, :], -1, 0)
    return np.asarray(np.log(times[0] / times[np.array(pair.gammas)]))
