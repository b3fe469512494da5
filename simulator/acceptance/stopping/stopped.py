"""Acceptance under a stopping rule: recorded texts whose drafts end once they are unsure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance, Kind, Price
from simulator.acceptance.recorded import Recorded
from simulator.acceptance.stopping.rule import StoppingRule
from simulator.acceptance.stopping.stopped_text import StoppedBlocks
from simulator.cost.cost import Cost


class Stopped(Acceptance):
    """Recorded texts, replayed with drafts of at most γ tokens that a rule stops earlier.

    A block's draft steps and its verified tokens may differ: a dropped token's step is paid, but
    the token is not verified.

    p_min: the threshold, in [0, 1].
    rule: the stopping rule.
    drafted_error: standard error of drafted over emitted tokens, at the largest γ; 0: exact.
    """

    def __init__(
        self, alpha: float, rows: Sequence[StoppedBlocks], *, rule: StoppingRule, p_min: float
    ) -> None:
        """Takes expected blocks for each token of the texts, by γ = 1, 2, ….

        Raises:
          ValueError: if the numbers contradict each other, as `Recorded` has it.
        """
        self.rule, self.p_min = rule, p_min
        self._verified = Recorded(alpha, _by_gamma([row.verified for row in rows]))
        self._paid = Recorded(alpha, _by_gamma([row.paid for row in rows]))
        self.drafted_error = rows[-1].drafted_error

    @property
    def kind(self) -> Kind:
        return "replay"

    @property
    def alpha(self) -> float:
        return self._verified.alpha

    @property
    def observed_gamma(self) -> int | None:
        return self._verified.observed_gamma

    @property
    def most_gamma(self) -> int | None:
        return self._verified.observed_gamma

    def per_token(self, price: Price, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns the expected price of blocks for each token, by the tokens that they verify."""
        return self._verified.per_token(price, gamma)

    def seconds_per_token(self, gamma: ArrayLike, cost: Cost) -> NDArray[np.float64]:
        drafting = self._paid.per_token(cost.drafting_seconds, gamma)
        return np.asarray(drafting + self._verified.per_token(cost.checking_seconds, gamma))[()]


def _by_gamma(rows: Sequence[NDArray[np.float64]]) -> Mapping[int, tuple[float, ...]]:
    return {gamma: tuple(row.tolist()) for gamma, row in enumerate(rows, start=1)}
