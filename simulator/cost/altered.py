"""The cost of a pair of models of which one thing is done another way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import Cost


@dataclass(frozen=True, slots=True)
class Altered(Cost):
    """A cost that says of all else what it said; what differs, a subclass says anew.

    alone: as it was.
    """

    alone: Cost

    @property
    def in_seconds(self) -> bool:
        return self.alone.in_seconds

    @property
    def observed_gamma(self) -> int | None:
        return self.alone.observed_gamma

    @property
    def by_steps(self) -> bool:
        return self.alone.by_steps

    @property
    def step_seconds(self) -> float:
        return self.alone.step_seconds

    @property
    def baseline_seconds(self) -> float:
        return self.alone.baseline_seconds

    @property
    def c(self) -> float:
        return self.alone.c

    def drafting_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        return self.alone.drafting_seconds(gamma)

    def checking_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        return self.alone.checking_seconds(gamma)
