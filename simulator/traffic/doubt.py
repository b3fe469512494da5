"""Draws of a server with uncertain costs and acceptance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from simulator.acceptance.acceptance import Acceptance
from simulator.cost.fitted.machine import Drafting
from simulator.cost.fitted.posterior import ParametricCost
from simulator.cost.pricing import Pricing
from simulator.numerics.arguments import Floats
from simulator.traffic.server import Server, by_batch

# The ends of an interval then have standard errors of 3 % of its width.
DRAWS = 400
_SEED = 0


@dataclass(frozen=True, slots=True)
class Doubt:
    """Random draws of a server's step times and acceptance rates, for what is uncertain in them.

    seconds: factors of step times by draw, batch size (1 to `slots`) and γ (0 to `longest`), shape
      (draws, slots, longest + 1).
    logits: shift of the acceptance rates' logits, and its change with the logarithm of the
      position, shape (draws, 2).
    """

    seconds: Floats
    logits: Floats

    def of(self, server: Server) -> Server:
        """Returns the server once per draw. Prompt times scale with steps without drafts."""
        factors = self.seconds[..., : server.seconds.shape[-1]]
        logit, change = self.logits.T[:, :, None, None]
        return replace(
            server,
            seconds=server.seconds * factors,
            blocks=server.blocks.moved(logit, change),
            prompts=replace(server.prompts, pace=factors[:, :1, 0]),
        )


def doubt_of(prices: Sequence[Pricing], acceptance: Acceptance, server: Server) -> Doubt | None:
    """Returns the draws of a server; None if acceptance and cost are exact.

    prices: costs by ascending batch.
    server: the server at its most probable costs and acceptance.
    """
    # numpy's takes a tenth of the whole answer to import.
    gauss = Random(_SEED).gauss
    slots, columns = server.seconds.shape
    lots = np.array([[gauss(0.0, 1.0) for _ in range(columns + 3)] for _ in range(DRAWS)])
    logits = lots[:, :2] @ _root(acceptance.logit_covariance)
    doubtful = {price.batch: price.doubtful for price in prices if price.doubtful is not None}
    if not doubtful and not logits.any():
        return None
    seconds = np.ones((DRAWS, slots, columns))
    if doubtful:
        factors = [_factors(cost, columns - 1, lots[:, 2:]) for cost in doubtful.values()]
        seconds = by_batch([*doubtful], np.stack(factors, axis=1), slots)
    return Doubt(seconds, logits)


def _factors(cost: ParametricCost, longest: int, lots: Floats) -> Floats:
    """Returns factors by γ: drawn step times divided by the most probable ones.

    Their shape is (draws, longest + 1), and their logarithms are jointly normal
    (Posterior.seconds_per_token). Times at drawn parameters would mostly be too long where few runs
    bound the parameters.

    lots: standard normal draws, shape (draws, longest + 2).
    """
    blocks = [None, *map(Drafting, range(1, longest + 1))]
    law = cost.posterior.seconds_per_token(cost.load, blocks, [1.0] * len(blocks))
    return np.asarray(np.exp(lots[:, :-1] @ _root(law.covariance) + law.error * lots[:, -1:]))


def _root(covariance: Floats) -> Floats:
    """Returns the symmetric root of a covariance: variances may be 0, and no sign is arbitrary."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
