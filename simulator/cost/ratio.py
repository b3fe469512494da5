"""The cost of Theorem 8: verification is free, and a draft step takes c target steps."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import Cost
from simulator.numerics.arguments import integers, non_negative


@dataclass(frozen=True, slots=True)
class Ratio(Cost):
    """A block of γ tokens takes γc + 1 steps of the target (Leviathan et al. 2023, Theorem 8).

    ratio: c, time of one draft step over time of one target step, at least 0.
    """

    ratio: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", float(non_negative("c", self.ratio)))

    @property
    def in_seconds(self) -> bool:
        return False

    @property
    def baseline_seconds(self) -> float:
        return 1.0

    @property
    def c(self) -> float:
        return self.ratio

    @property
    def verification_free(self) -> bool:
        return True

    @property
    def theorem8(self) -> bool:
        return True

    def drafting_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(integers("gamma", gamma) * self.ratio)[()]

    def checking_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        return np.ones(integers("gamma", gamma).shape)[()]
