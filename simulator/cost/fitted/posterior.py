"""The posterior of a deployment's parameters: a prior from other deployments, updated by runs.

The parameters have a lognormal prior. The most probable parameters given the runs are found by
least squares. Their logarithms are taken as normal around that point, with a covariance from the
curvature there (Laplace's approximation; Tierney and Kadane 1986).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from random import Random

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import Cost
from simulator.cost.fitted.forecast import Forecast
from simulator.cost.fitted.machine import (
    COUNT,
    Drafting,
    FittedMachine,
    LoadPoint,
    Machine,
    Works,
)
from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.runs import Run, pooled
from simulator.numerics.arguments import integers

# Half the draws where predictions are not linear in the parameters' logarithms.
_PAIRS = 128


@dataclass(frozen=True, slots=True)
class Posterior:
    """A deployment's parameters given its runs.

    machine: the deployment.
    prior: distribution before the runs.
    found: most probable logarithms of the parameters, then each load's effect: log of measured over
      modelled speed-ups; shape (COUNT + m,).
    doubt: covariance of `found`, shape (COUNT + m, COUNT + m).
    runs: the measurements.
    loads: the m loads that were run with and without drafts.
    """

    machine: Machine
    prior: Prior
    found: NDArray[np.float64]
    doubt: NDArray[np.float64]
    runs: tuple[Run, ...]
    loads: tuple[LoadPoint, ...] = ()

    @property
    def logs(self) -> NDArray[np.float64]:
        """Most probable logarithms of the parameters, shape (COUNT,)."""
        return self.found[:COUNT]

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the parameters' logarithms, shape (COUNT, COUNT)."""
        return self.doubt[:COUNT, :COUNT]

    @property
    def impossible(self) -> tuple[Run, ...]:
        """Runs whose speed-up exceeds their tokens per block, which is impossible."""
        alone = {run.load: run.seconds_per_token for run in self.runs if run.drafting is None}
        return tuple(
            run
            for run in self.runs
            if run.drafting is not None
            and alone.get(run.load, 0.0) > run.length * run.seconds_per_token
        )

    @property
    def calibrated(self) -> bool:
        """Whether gain probabilities can be trusted; always true after a run with drafts."""
        return self.prior.calibrated or any(run.gamma > 0 for run in self.runs)

    def speed_ups(
        self, load: LoadPoint, draftings: Sequence[Drafting], lengths: Sequence[float]
    ) -> Forecast:
        """Returns the distribution of the speed-up over no speculation for each drafting.

        Args:
          load: the requests that are served.
          draftings: drafts of blocks, at one or more γ.
          lengths: mean tokens that a block of each drafting emits, at least 1.
        """
        plain, own = self._works(load, [None], [1.0]), self._works(load, draftings, lengths)
        mean = plain.log_seconds(self.logs) - own.log_seconds(self.logs)
        slopes = plain.slopes(self.logs) - own.slopes(self.logs)
        covariance = slopes @ self.covariance @ slopes.T
        error = float(np.hypot(self.prior.ratio_error, self.prior.load_error))
        fitted = isinstance(self.machine, FittedMachine)
        vague = not (any(run.gamma > 0 for run in self.runs) if fitted else self.runs)
        if self.prior.drawn and vague:
            drawn = self._draws(plain) - self._draws(own)
            mean, covariance = drawn.mean(axis=0), np.atleast_2d(np.cov(drawn, rowvar=False))
        if load in self.loads:
            at = COUNT + self.loads.index(load)
            shared = slopes @ self.doubt[:COUNT, at]
            mean = mean + self.found[at]
            covariance = covariance + shared[:, None] + shared + self.doubt[at, at]
            error = self.prior.ratio_error
        # A block takes no less than a step without drafts, unless runs contradict it.
        highest = None if self.impossible else np.log(np.asarray(lengths, dtype=np.float64))
        return Forecast(mean, covariance, error, highest=highest)

    def seconds_per_token(
        self, load: LoadPoint, draftings: Sequence[Drafting | None], lengths: Sequence[float]
    ) -> Forecast:
        """Returns the distribution of the time between two tokens of a sequence.

        Arguments as in speed_ups. A drafting of None, with length 1, is a step without speculation.
        """
        alone = [run for run in self.runs if run.load == load and run.drafting is None]
        if alone:
            return self._beside(alone, load, draftings, lengths)
        works = self._works(load, draftings, lengths)
        slopes = works.slopes(self.logs)
        drafted = np.array([each is not None for each in draftings])
        # The error of measured speed-ups at one load counts in a time with drafts.
        own = np.hypot(self.prior.ratio_error, self.prior.load_error) * drafted
        least = self.machine.least_seconds(load)
        lowest = np.log(np.full(len(lengths), least) / np.asarray(lengths)) if least > 0 else None
        return Forecast(
            works.log_seconds(self.logs),
            slopes @ self.covariance @ slopes.T + np.outer(own, own),
            self.prior.level_error,
            lowest=None if self.runs else lowest,
        )

    def _beside(
        self,
        alone: Sequence[Run],
        load: LoadPoint,
        draftings: Sequence[Drafting | None],
        lengths: Sequence[float],
    ) -> Forecast:
        """Returns the times at a load with measured plain steps: the plain time over speed-ups."""
        (run,) = pooled(alone)
        drafted = np.array([each is not None for each in draftings])
        law = self.speed_ups(load, [each or Drafting(1) for each in draftings], lengths)
        mean = np.log(run.seconds_per_token) - drafted * law.mean
        covariance = np.outer(drafted, drafted) * (law.covariance + law.error**2)
        return Forecast(mean, covariance, max(run.error, self.prior.ratio_error))

    def _draws(self, works: Works) -> NDArray[np.float64]:
        """Returns the logarithms of times at drawn parameters, shape (draws, n)."""
        logs = self.logs + _lots() @ np.linalg.cholesky(self.covariance).T
        return np.asarray(np.log(np.exp(logs) @ works.amounts.T + works.fixed))

    def _works(
        self, load: LoadPoint, draftings: Sequence[Drafting | None], lengths: Sequence[float]
    ) -> Works:
        pairs = zip(draftings, lengths, strict=True)
        return Works.of([self.machine.token_work(load, each, length) for each, length in pairs])


@cache
def _lots() -> NDArray[np.float64]:
    """Returns standard normal draws in opposite pairs, shape (2 · _PAIRS, COUNT)."""
    # numpy's generator takes a tenth of a plan to import.
    gauss = Random(0).gauss
    lots = np.array([[gauss(0.0, 1.0) for _ in range(COUNT)] for _ in range(_PAIRS)])
    return np.vstack([lots, -lots])


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
