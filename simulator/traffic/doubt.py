"""Draws of a server whose costs and acceptance are in doubt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.acceptance import Acceptance
from simulator.cost.machine import Drafting
from simulator.cost.pricing import Pricing
from simulator.traffic.server import Server, by_batch

# The ends of an interval then have standard errors of 3 % of its width.
DRAWS = 400
_SEED = 0


@dataclass(frozen=True, slots=True)
class Doubt:
    """Draws of a server.

    seconds: factors of the times of steps, shape (draws, slots, longest + 1).
    logits: shift of the acceptance rates' logits, and its change with the logarithm of the
      position, shape (draws, 2).
    """

    seconds: NDArray[np.float64]
    logits: NDArray[np.float64]

    def of(self, server: Server) -> Server:
        """Returns the server once per draw; prompt times scale as steps without drafts do."""
        factors = self.seconds[..., : server.seconds.shape[-1]]
        logit, change = self.logits.T[:, :, None, None]
        return replace(
            server,
            seconds=server.seconds * factors,
            blocks=server.blocks.moved(logit, change),
            prompts=replace(server.prompts, pace=factors[:, :1, 0]),
        )


def doubt_of(prices: Sequence[Pricing], acceptance: Acceptance, server: Server) -> Doubt | None:
    """Returns the draws of a server; None where acceptance and cost are exact.

    Args:
      prices: costs by ascending batch.
      acceptance: how often drafted tokens are accepted.
      server: the most probable one.
    """
    # numpy's takes a tenth of the whole answer to import.
    gauss = Random(_SEED).gauss
    slots, columns = server.seconds.shape
    lots = np.array([[gauss(0.0, 1.0) for _ in range(columns + 3)] for _ in range(DRAWS)])
    logits = lots[:, :2] @ _root(acceptance.logit_covariance)
    doubtful = [price for price in prices if price.posterior is not None]
    if not doubtful and not logits.any():
        return None
    seconds = np.ones((DRAWS, slots, columns))
    if doubtful:
        machines = lots[:, 2:]
        factors = np.stack([_factors(price, columns - 1, machines) for price in doubtful], axis=1)
        batches = [price.batch for price in doubtful]
        seconds = by_batch(batches, factors, slots)
    return Doubt(seconds, logits)


def _factors(price: Pricing, longest: int, lots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns drawn over most probable times of steps by γ, shape (draws, longest + 1).

    Their logarithms are normal together, as Posterior.seconds_per_token has them: with parameters
    that few runs bound, the times of drawn parameters would mostly be above the most probable.
    """
    assert price.posterior is not None
    assert price.point is not None
    blocks = [None, *map(Drafting, range(1, longest + 1))]
    law = price.posterior.seconds_per_token(price.point, blocks, [1.0] * len(blocks))
    return np.asarray(np.exp(lots[:, :-1] @ _root(law.covariance) + law.error * lots[:, -1:]))


def _root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the symmetric root of a covariance, which no library's choice of signs alters.

    Cholesky's root needs every variance above 0.
    """
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
