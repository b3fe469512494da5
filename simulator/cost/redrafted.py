"""Blocks that are drafted another way: a tree, or a hierarchy; all else costs what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.altered import Altered
from simulator.numerics.arguments import integers


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
