"""The cost of a pair of models of which one thing is done another way, such as the drafting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import Cost
from simulator.numerics.arguments import integers


@dataclass(frozen=True, slots=True)
class Altered(Cost):
    """A cost that says of all else what it said; what differs, a subclass says anew."""

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


@dataclass(frozen=True, slots=True)
class Redrafted(Altered):
    """The cost of a pair of models whose draft is made another way.

    alone: prices verification, overhead and the target alone.
    drafting: the time of drafting γ tokens, at least 1, in the unit of alone.
    """

    drafting: Callable[[int], float]

    @property
    def by_steps(self) -> bool:
        return False

    @property
    def verification_free(self) -> bool:
        return self.alone.verification_free

    def drafting_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        lengths = integers("gamma", gamma)
        seconds = np.zeros(lengths.shape)
        for length in np.unique(lengths[lengths > 0]).tolist():
            seconds[lengths == length] = self.drafting(length)
        return seconds[()]
