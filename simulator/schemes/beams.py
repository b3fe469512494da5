"""Speculative beam search: Leviathan et al. 2023, appendix A.4.

A draft searches with u ≥ w beams for γ steps ahead and the target checks them in one call over
w + uγ tokens. A drafted step is accepted if top_w(M_p) ⊆ top_u(M_q). Let r be its probability once
the steps before it are accepted. Then a call takes as many steps as speculative decoding emits
tokens: the acceptance is `Iid(r)`, and Eq. 1 with r for α gives the steps of a call.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import Cost
from simulator.cost.curves import pass_points, pass_seconds
from simulator.numerics.arguments import integer, integers


@dataclass(frozen=True, slots=True)
class BeamCost(Cost):
    """A block of γ drafted steps takes t_q(w) + (γ-1) t_q(u) + t_p(w + uγ); a baseline step t_p(w).

    width, draft_width: w at least 1, and u at least w.
    target_seconds, draft_seconds: t_p(n), t_q(n), a pass over n tokens by n, as in `pass_seconds`.
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
        for name in ("target_seconds", "draft_seconds"):
            object.__setattr__(self, name, pass_points(name, getattr(self, name)))

    def budget(self, gamma: ArrayLike) -> NDArray[np.int64]:
        """Returns the tokens that a call of the target reads, w + uγ (A.4)."""
        return np.asarray(self.width + self.draft_width * integers("gamma", gamma))[()]

    @property
    def step_seconds(self) -> float:
        return float(pass_seconds(self.target_seconds, self.width))

    @property
    def baseline_seconds(self) -> float:
        return self.step_seconds

    @property
    def c(self) -> float:
        """Time of a drafted step over the time of a target step, t_q(u) / t_p(w)."""
        return float(pass_seconds(self.draft_seconds, self.draft_width)) / self.step_seconds

    def drafting_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        steps = integers("gamma", gamma)
        first, later = pass_seconds(self.draft_seconds, [self.width, self.draft_width])
        return np.where(steps == 0, 0.0, first + (steps - 1) * later)[()]

    def checking_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        return pass_seconds(self.target_seconds, self.budget(gamma))
