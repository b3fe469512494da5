"""The posterior of a deployment's parameters: a prior from other deployments, updated by runs.

The parameters have a lognormal prior. The most probable parameters given the runs are found by
least squares. Their logarithms are taken as normal around that point, with a covariance from the
curvature there (Laplace's approximation; Tierney and Kadane 1986).
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
from simulator.cost.machine import Drafting, FittedMachine, LoadPoint, Machine
from simulator.cost.parameters import COUNT, PARAMETERS
from simulator.cost.runs import Run, pooled

# Variance of the logarithm of a number that a user states.
SURE = 1e-8
# A load's own error is at least this: effects of loads then are none.
_NO_ERROR = 1e-6
# Half the draws where predictions are not linear in the parameters' logarithms.
_PAIRS = 128


@dataclass(frozen=True, slots=True)
class Prior:
    """The distribution of the parameters, and the model's errors, before any run.

    logs: mean of the parameters' natural logarithms, shape (COUNT,).
    covariance: covariance of the logarithms, shape (COUNT, COUNT), positive definite.
    level_error: standard deviation of log(measured time / modelled time).
    ratio_error: standard deviation of log(measured speed-up / modelled speed-up), per run.
    load_error: standard deviation of a further error that all speed-ups of one load share.
    drawn: whether predictions average over drawn parameters where no run has drafts, on a modelled
      machine where there is no run at all; false: they are linear in the parameters' logarithms.
    calibrated: whether predicted probabilities of a gain match observed frequencies.
    """

    logs: NDArray[np.float64]
    covariance: NDArray[np.float64]
    level_error: float
    ratio_error: float
    load_error: float = 0.0
    drawn: bool = False
    calibrated: bool = True

    def fixed(self, **known: float) -> Prior:
        """Returns the prior with some parameters set to known values, by name, each above 0."""
        logs, covariance = self.logs.copy(), self.covariance.copy()
        for name, value in known.items():
            index = PARAMETERS.index(name)
            logs[index] = np.log(value)
            covariance[index, :] = covariance[:, index] = 0
            covariance[index, index] = SURE
        return replace(self, logs=logs, covariance=covariance)


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


def infer(machine: Machine, prior: Prior, runs: Sequence[Run]) -> Posterior:
    """Returns the posterior of a deployment's parameters.

    A run with speculation enters by its speed-up over plain runs of its load, or by its time if
    there are none. Several runs of one setting enter as their mean.

    Args:
      machine: the deployment.
      prior: distribution of the parameters before any run.
      runs: measurements; without any the posterior is the prior.
    """
    if not runs:
        return Posterior(machine, prior, prior.logs, prior.covariance, ())
    evidence = Evidence.of(machine, pooled(runs))
    found, covariance = conclude(prior, evidence)
    return Posterior(machine, prior, found, covariance, tuple(runs), evidence.loads)


def conclude(prior: Prior, evidence: Evidence) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the most probable parameters and load effects, and their covariance.

    Shapes (COUNT + m,) and (COUNT + m, COUNT + m): logarithms of the parameters, then for each of m
    loads the log of its measured over modelled speed-ups.
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
