"""A draft model that a cheaper drafter accelerates in its turn: Leviathan et al. 2023, §6.

Inner blocks are lossless, so the γ tokens that they make up have the draft model's law and the
outer acceptance stays what it was. They are a text of γ tokens: the last inner block drafts no more
than is left to emit. The paper leaves this to future work.
"""

import numpy as np

from simulator.acceptance.replay import Replay
from simulator.cost.altered import Redrafted
from simulator.cost.cost import Cost
from simulator.numerics.arguments import integer, probability


def hierarchical_cost(cost: Cost, *, inner: Cost, alpha: float, gamma: int) -> Redrafted:
    """Returns the cost of blocks whose draft model is sped up by a cheaper drafter.

        drafting(n) = c t_p(1) W(n) / t,   W the expected time of a text of n tokens
                                                                       (§6, by replay)

    where W and t, a step of the draft model, are in the inner cost's own unit. That cost may be
    hierarchical in its turn.

    Args:
      cost: times of the target and the draft model.
      inner: times of the draft model, as the inner target, and the cheap drafter.
      alpha: acceptance rate in [0, 1] of the cheap drafter by the draft model.
      gamma: tokens that the cheap drafter drafts per inner block, at least 0.
    """
    rate, length = float(probability("alpha", alpha)), integer("gamma", gamma)
    step = cost.c * cost.step_seconds / inner.step_seconds

    def drafting(tokens: int) -> float:
        return step * Replay(np.full(tokens, rate)).seconds(length, inner)

    return Redrafted(cost, drafting)
