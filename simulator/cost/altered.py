"""Costs that wrap another cost and change one part of it, such as the drafting."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import Cost
from simulator.numerics.arguments import integers


@dataclass(frozen=True, slots=True)
class WrappedCost(Cost):
    """Wraps another cost and delegates to it. Subclasses override what they change.

    inner: the wrapped cost.
    """

    inner: Cost

    @property
    def in_seconds(self) -> bool:
        return self.inner.in_seconds

    @property
    def observed_gamma(self) -> int | None:
        return self.inner.observed_gamma

    @property
    def by_steps(self) -> bool:
        return self.inner.by_steps

    @property
    def step_seconds(self) -> float:
        return self.inner.step_seconds

    @property
    def baseline_seconds(self) -> float:
        return self.inner.baseline_seconds

    @property
    def c(self) -> float:
        return self.inner.c

    def drafting_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        return self.inner.drafting_seconds(gamma)

    def checking_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        return self.inner.checking_seconds(gamma)


@dataclass(frozen=True, slots=True)
class Redrafted(WrappedCost):
    """The cost of a pair of models with another way to draft.

    drafting: the time of drafting γ tokens, at least 1, in the unit of `inner`.
    """

    drafting: Callable[[int], float]

    @property
    def by_steps(self) -> bool:
        return False

    @property
    def verification_free(self) -> bool:
        return self.inner.verification_free

    def drafting_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        lengths = integers("gamma", gamma)
        seconds = np.zeros(lengths.shape)
        for length in np.unique(lengths[lengths > 0]).tolist():
            seconds[lengths == length] = self.drafting(length)
        return seconds[()]
