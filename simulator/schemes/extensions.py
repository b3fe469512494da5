"""Two extensions of Leviathan et al. 2023: beam search, and a draft model with its own drafter."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.replay import Replay
from simulator.cost.cost import ChangedCost, Cost
from simulator.cost.curves import pass_points, pass_seconds
from simulator.numerics.arguments import Floats, integer, integers, probability


@dataclass(frozen=True, slots=True)
class BeamCost(Cost):
    """Cost of speculative beam search (Leviathan et al. 2023, appendix A.4).

        a block of γ drafted steps:  t_q(w) + (γ-1) t_q(u) + t_p(w + uγ)
        a baseline step:             t_p(w)

    The draft searches γ steps ahead with u beams, and one target call over w + uγ tokens checks
    them. A step is accepted if top_w(M_p) ⊆ top_u(M_q), with probability r if earlier steps were
    accepted. So the acceptance is `Iid(r)`, and Eq. 1 with α = r gives the steps per call.

    width, draft_width: w at least 1, and u at least w.
    target_seconds, draft_seconds: t_p(n) and t_q(n), seconds of a pass over n tokens, by n.
    """

    width: int
    draft_width: int
    target_seconds: Mapping[int, float]
    draft_seconds: Mapping[int, float]

    def __post_init__(self) -> None:
        if integer("draft_width", self.draft_width) < integer("width", self.width, at_least=1):
            raise ValueError(
                f"draft_width must be at least width, {self.width}, got {self.draft_width}"
            )
        for field in ("target_seconds", "draft_seconds"):
            object.__setattr__(self, field, pass_points(field, getattr(self, field)))

    def budget(self, gamma: ArrayLike) -> NDArray[np.int64]:
        """Returns the number of tokens that a target call reads, w + uγ (A.4)."""
        return np.asarray(self.width + self.draft_width * integers("gamma", gamma))[()]

    @property
    def baseline_seconds(self) -> float:
        return float(pass_seconds(self.target_seconds, self.width))

    @property
    def c(self) -> float:
        return float(pass_seconds(self.draft_seconds, self.draft_width)) / self.step_seconds

    def drafting_seconds(self, gamma: ArrayLike) -> Floats:
        steps = integers("gamma", gamma)
        first, later = pass_seconds(self.draft_seconds, [self.width, self.draft_width])
        return np.where(steps == 0, 0.0, first + (steps - 1) * later)[()]

    def checking_seconds(self, gamma: ArrayLike) -> Floats:
        return pass_seconds(self.target_seconds, self.budget(gamma))


def hierarchical_cost(cost: Cost, *, inner: Cost, alpha: float, gamma: int) -> ChangedCost:
    """Returns the cost of blocks with a draft model that a cheaper drafter speeds up.

        drafting(n) = c t_p(1) W(n) / t        (Leviathan et al. 2023, section 6, left open there)

    W is the expected time of a text of n tokens, by replay, and t a step of the draft model, both
    in the inner cost's unit. Inner blocks are lossless, so the outer acceptance does not change.

    inner: cost of the draft model's blocks with the cheap drafter; may itself be hierarchical.
    alpha: rate in [0, 1] at which the draft model accepts the cheap drafter's tokens.
    gamma: tokens that the cheap drafter drafts per inner block, at least 0.
    """
    rate, length = float(probability("alpha", alpha)), integer("gamma", gamma)
    step = cost.c * cost.step_seconds / inner.step_seconds
    return ChangedCost(cost, lambda n: step * Replay(np.full(n, rate)).seconds(length, inner))
