"""The cost of a deployment at one point of its parameters' distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import Cost
from simulator.cost.machine import Drafting, LoadPoint, Machine
from simulator.cost.posterior import Posterior
from simulator.numerics.arguments import integers


@dataclass(frozen=True, slots=True)
class ParametricCost(Cost):
    """Times of blocks at given parameters, without other requests' prompts.

    logs: natural logarithms of the parameters, shape (COUNT,).
    observed: the largest γ of the load's runs; None without any.
    """

    machine: Machine
    load: LoadPoint
    logs: NDArray[np.float64]
    observed: int | None = None

    @classmethod
    def of(cls, posterior: Posterior, load: LoadPoint) -> ParametricCost:
        """Returns the cost at the posterior's most probable parameters."""
        drafted = [run.mean_drafted for run in posterior.runs if run.load == load]
        observed = ceil(max(drafted, default=0))
        free = replace(load, prompt_ratio=0.0)
        return cls(posterior.machine, free, posterior.logs, observed or None)

    @property
    def observed_gamma(self) -> int | None:
        return self.observed

    @property
    def baseline_seconds(self) -> float:
        return self.machine.plain_work(self.load).seconds(self.logs)

    @property
    def c(self) -> float:
        """Time that a second drafted token adds, over the time of a target step."""
        first, second = self.drafting_seconds([1, 2])
        return float(second - first) / self.step_seconds

    def drafting_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        return self._by_gamma(gamma, self._drafting)

    def checking_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        return self._by_gamma(gamma, self._checking)

    def _drafting(self, gamma: int) -> float:
        if gamma == 0:
            return 0.0
        return self.machine.drafting_work(self.load, Drafting(gamma)).seconds(self.logs)

    def _checking(self, gamma: int) -> float:
        block = Drafting(gamma) if gamma > 0 else Drafting(1, verified=1)
        return self.machine.checking_work(self.load, block).seconds(self.logs)

    def _by_gamma(self, gamma: ArrayLike, seconds: Callable[[int], float]) -> NDArray[np.float64]:
        lengths = integers("gamma", gamma)
        asked = lengths.ravel().tolist()
        of = {length: seconds(length) for length in set(asked)}
        found = np.array([of[length] for length in asked], dtype=np.float64)
        return np.asarray(found.reshape(lengths.shape))[()]
