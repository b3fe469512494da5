"""The posterior of a deployment's cost: a prior from other deployments, and its own runs.

The parameters are lognormal before any run. The most probable ones given the runs are found by
least squares, and in logarithms their doubt is taken as normal about them, by the curvature there
(Laplace's approximation; Tierney and Kadane 1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from simulator.cost.evidence import Evidence, Works
from simulator.cost.forecast import Forecast
from simulator.cost.machine import Drafting, LoadPoint, Machine
from simulator.cost.parameters import COUNT, PARAMETERS
from simulator.cost.runs import Run, pooled, require_consistent

# Variance of the logarithm of a number that a user states.
SURE = 1e-8
# A load's own error is at least this: effects of loads then are none.
_NO_ERROR = 1e-6
# Half the draws where predictions are not linear in the parameters' logarithms.
_PAIRS = 128


@dataclass(frozen=True, slots=True)
class Prior:
    """The parameters and the model's errors before any run.

    logs: mean of their natural logarithms, shape (COUNT,).
    covariance: covariance of the logarithms, shape (COUNT, COUNT), positive definite.
    level_error: standard deviation of the logarithm of a measured time about the model's.
    ratio_error: standard deviation of the logarithm of a measured speed-up, drawn for each run.
    load_error: standard deviation of a further error that all speed-ups of one load share.
    drawn: whether predictions without a run integrate over the parameters, in place of taking
      their logarithms as linear.
    calibrated: whether the probability of a gain that follows comes true as often as it says.
    """

    logs: NDArray[np.float64]
    covariance: NDArray[np.float64]
    level_error: float
    ratio_error: float
    load_error: float = 0.0
    drawn: bool = False
    calibrated: bool = True

    def fixed(self, **known: float) -> Prior:
        """Returns the prior with some parameters known, by name, each above 0."""
        logs, covariance = self.logs.copy(), self.covariance.copy()
        for name, value in known.items():
            index = PARAMETERS.index(name)
            logs[index] = np.log(value)
            covariance[index, :] = covariance[:, index] = 0
            covariance[index, index] = SURE
        return replace(self, logs=logs, covariance=covariance)


@dataclass(frozen=True, slots=True)
class Posterior:
    """A deployment's parameters after its runs.

    machine: the deployment.
    prior: parameters and errors of the model before the runs.
    found: most probable logarithms of the parameters, then of each load's effect: by how much its
      measured speed-ups are above the model's; shape (COUNT + m,).
    doubt: covariance of `found`, shape (COUNT + m, COUNT + m).
    runs: the measurements.
    loads: the m loads that have runs with and without drafts.
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
        """The runs that gain more than their tokens a block, which no server of this kind can."""
        alone = {run.load: run.seconds_per_token for run in self.runs if run.drafting is None}
        return tuple(
            run
            for run in self.runs
            if run.drafting is not None
            and alone.get(run.load, 0.0) > run.length * run.seconds_per_token
        )

    @property
    def calibrated(self) -> bool:
        """Whether the probability of a gain can be trusted; true after a run with drafts."""
        return self.prior.calibrated or any(run.gamma > 0 for run in self.runs)

    def speed_ups(
        self, load: LoadPoint, draftings: Sequence[Drafting], lengths: Sequence[float]
    ) -> Forecast:
        """Returns the law of the speed-up over no speculation at every drafting.

        Args:
          load: the requests that are served.
          draftings: the drafts of blocks, at one or more γ.
          lengths: mean tokens that a block of each drafting emits, at least 1.
        """
        plain, own = self._works(load, [None], [1.0]), self._works(load, draftings, lengths)
        mean = plain.log_seconds(self.logs) - own.log_seconds(self.logs)
        slopes = plain.slopes(self.logs) - own.slopes(self.logs)
        covariance = slopes @ self.covariance @ slopes.T
        error = float(np.hypot(self.prior.ratio_error, self.prior.load_error))
        if self.prior.drawn and not self.runs:
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
        """Returns the law of the time between two tokens of a sequence; as in speed_ups.

        None among draftings is a step without speculation, of length 1.
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
        """Returns the times at a load whose step without drafts was measured: it over speed-ups."""
        (run,) = pooled(alone)
        drafted = np.array([each is not None for each in draftings])
        law = self.speed_ups(load, [each or Drafting(1) for each in draftings], lengths)
        mean = np.log(run.seconds_per_token) - drafted * law.mean
        covariance = np.outer(drafted, drafted) * (law.covariance + law.error**2)
        return Forecast(mean, covariance, max(run.error, self.prior.ratio_error))

    def _draws(self, works: Works) -> NDArray[np.float64]:
        """Returns logarithms of times at drawn parameters, shape (draws, n)."""
        logs = self.logs + _lots() @ np.linalg.cholesky(self.covariance).T
        return np.asarray(np.log(np.exp(logs) @ works.amounts.T + works.fixed))

    def _works(
        self, load: LoadPoint, draftings: Sequence[Drafting | None], lengths: Sequence[float]
    ) -> Works:
        pairs = zip(draftings, lengths, strict=True)
        return Works.of([self.machine.token_work(load, each, length) for each, length in pairs])


def infer(machine: Machine, prior: Prior, runs: Sequence[Run]) -> Posterior:
    """Returns the posterior of a deployment's parameters.

    A run with speculation counts by its speed-up over the runs without it of the same load, where
    there are any, and else by its time. Several runs of one setting count as their mean.

    Args:
      machine: the deployment.
      prior: its parameters before any run.
      runs: measurements; without any the posterior is the prior.
    """
    require_consistent(runs)
    if not runs:
        return Posterior(machine, prior, prior.logs, prior.covariance, ())
    evidence = Evidence.of(machine, pooled(runs))
    found, covariance = conclude(prior, evidence)
    return Posterior(machine, prior, found, covariance, tuple(runs), evidence.loads)


def conclude(prior: Prior, evidence: Evidence) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the most probable parameters and load effects, and their covariance.

    Shapes (COUNT + m,) and (COUNT + m, COUNT + m): first the logarithms of the parameters, then by
    how much each of the m loads' measured speed-ups are above the model's, in logarithms.
    """
    from scipy.optimize import least_squares

    root = np.zeros((COUNT + len(evidence.loads),) * 2)
    root[:COUNT, :COUNT] = np.linalg.cholesky(np.linalg.inv(prior.covariance)).T
    root[COUNT:, COUNT:] = np.eye(len(evidence.loads)) / max(prior.load_error, _NO_ERROR)
    start = np.concatenate([prior.logs, np.zeros(len(evidence.loads))])
    errors = evidence.errors(prior.level_error, prior.ratio_error)

    def residuals(values: NDArray[np.float64]) -> NDArray[np.float64]:
        off = evidence.misfit(values[:COUNT]) + evidence.at_load @ values[COUNT:]
        return np.concatenate([root @ (values - start), off / errors])

    def jacobian(values: NDArray[np.float64]) -> NDArray[np.float64]:
        slopes = np.hstack([evidence.slopes(values[:COUNT]), evidence.at_load])
        return np.vstack([root, slopes / errors[:, None]])

    found = np.asarray(least_squares(residuals, start, jac=jacobian, method="lm").x)
    slope = jacobian(found)
    return found, np.asarray(np.linalg.inv(slope.T @ slope))


@cache
def _lots() -> NDArray[np.float64]:
    """Returns standard normal draws in opposite pairs, shape (2 · _PAIRS, COUNT)."""
    # numpy's generator takes a tenth of a plan to import.
    gauss = Random(0).gauss
    lots = np.array([[gauss(0.0, 1.0) for _ in range(COUNT)] for _ in range(_PAIRS)])
    return np.vstack([lots, -lots])
