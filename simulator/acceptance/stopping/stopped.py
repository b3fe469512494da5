"""Acceptance under a stopping rule: recorded texts whose drafts end once they are unsure."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.recorded import Recorded
from simulator.acceptance.stopping.rule import StoppingRule
from simulator.cost.cost import Cost

Rows = Mapping[int, tuple[float, ...]]


class Stopped(Recorded):
    """Recorded texts, replayed with drafts of at most γ tokens that a rule stops earlier.

    `blocks` counts blocks by the tokens that they verify, and `paid` by the draft steps that they
    pay: a dropped token's step is paid, but the token is not verified.

    rule: the stopping rule.
    p_min: the threshold, in [0, 1].
    drafted_error: standard error of drafted over emitted tokens, at the largest γ; 0: exact.
    """

    def __init__(
        self, verified: Recorded, paid: Rows, rule: StoppingRule, p_min: float, *, error: float
    ) -> None:
        """Takes what `Recorded` holds for verified tokens, and the same rows for draft steps."""
        super().__init__(verified.rate, verified.blocks, verified.error)
        own = {"paid": Recorded(self.rate, paid), "rule": rule, "p_min": p_min}
        for name, value in {**own, "drafted_error": error}.items():
            object.__setattr__(self, name, value)

    paid: Recorded
    rule: StoppingRule
    p_min: float
    drafted_error: float

    @property
    def most_gamma(self) -> int | None:
        return len(self.blocks)

    def seconds_per_token(self, gamma: ArrayLike, cost: Cost) -> NDArray[np.float64]:
        drafting = self.paid.per_token(cost.drafting_seconds, gamma)
        return np.asarray(drafting + self.per_token(cost.checking_seconds, gamma))[()]
