"""What to draft: one γ, a schedule by batch, or a γ for each kind of request; the best of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.choice.schedule import Range, schedule
from simulator.traffic.demand import Demand
from simulator.traffic.server import Server


@dataclass(frozen=True, slots=True)
class Policy:
    """γ by batch and kind of request, shape (slots, kinds)."""

    gammas: NDArray[np.int64]

    @classmethod
    def fixed(cls, server: Server, gamma: int) -> Policy:
        """Returns what drafts alike always."""
        return cls(np.full((server.slots, server.blocks.kinds), gamma))

    @classmethod
    def scheduled(cls, server: Server, demand: Demand) -> Policy:
        """Returns the schedule under which a step serves most at every batch.

        It makes every factor of the steady state's law least, and with them the number of requests
        there: no other schedule by batch has a shorter time per token, at any rate.
        """
        needed = server.blocks.needed(demand.output_tokens - 1).mean(axis=0)
        best = (server.seconds * needed).argmin(axis=1)
        return cls(np.repeat(best[:, None], server.blocks.kinds, axis=1))

    @classmethod
    def by_request(cls, server: Server, demand: Demand) -> Policy:
        """Returns for each kind of request what is best if all were of that kind.

        What an engine that adapts γ to each request reaches at most: it knows α from the start.
        """
        needed = server.blocks.needed(demand.output_tokens - 1)
        return cls((server.seconds[:, None, :] * needed[None]).argmin(axis=2))

    @property
    def by_batch(self) -> NDArray[np.int64]:
        """γ by batch, of requests of the first kind, shape (slots,)."""
        return self.gammas[:, 0]

    @property
    def ranges(self) -> tuple[Range, ...]:
        """γ by batch as ranges that servers take."""
        return schedule(dict(enumerate(self.by_batch.tolist(), start=1)))
