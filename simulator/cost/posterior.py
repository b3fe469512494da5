"""What runs say of a deployment's cost, beside what is known of others: a posterior.

The parameters are lognormal before any run. The most probable ones given the runs are found by
least squares, and in logarithms their doubt is taken as normal about them, by the curvature there
(Laplace's approximation; Tierney and Kadane 1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import erf, sqrt

import numpy as np
from numpy.typing import NDArray

from simulator.cost.evidence import Evidence, Works
from simulator.cost.machine import Drafting, LoadPoint, Machine
from simulator.cost.parameters import PARAMETERS
from simulator.cost.runs import Run, pooled, require_consistent

# Variance of the logarithm of what a user states.
SURE = 1e-8
# Deviations below are none: a probability is then 0 or 1.
_NO_DOUBT = 1e-15


@dataclass(frozen=True, slots=True)
class Prior:
    """What is known of the parameters before any run.

    logs: mean of their natural logarithms, shape (COUNT,).
    covariance: of them, shape (COUNT, COUNT), positive definite.
    level_error: standard deviation of the logarithm of a measured time about the model's.
    ratio_error: the same of a measured speed-up: what is wrong in both its times cancels.
    calibrated: whether the probability of a gain that follows comes true as often as it says.
    """

    logs: NDArray[np.float64]
    covariance: NDArray[np.float64]
    level_error: float
    ratio_error: float
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
class Forecast:
    """A normal law of the logarithms of several quantities together.

    mean: shape (n,).
    covariance: shape (n, n), by the parameters' doubt alone.
    error: standard deviation of the model's own error, which they share.
    """

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    error: float

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Standard deviation of each, the model's error included, shape (n,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance) + self.error**2))

    def quantile(self, share: float) -> NDArray[np.float64]:
        """Returns a quantile of each quantity itself, shape (n,); share in (0, 1)."""
        # scipy's takes a quarter of a second to import.
        from statistics import NormalDist

        return np.asarray(np.exp(self.mean + NormalDist().inv_cdf(share) * self.deviation))

    def exceeds(self, level: float) -> NDArray[np.float64]:
        """Returns the probability that each quantity itself is above a level, shape (n,).

        Args:
          level: above 0; 1 for a speed-up asks for the probability of a gain.
        """
        above = (self.mean - np.log(level)) / np.maximum(self.deviation, _NO_DOUBT)
        return np.array([0.5 * (1 + erf(each / sqrt(2))) for each in above.tolist()])

    def blurred(self, covariance: NDArray[np.float64]) -> Forecast:
        """Returns the law with a further, independent doubt, of shape (n, n)."""
        return Forecast(self.mean, self.covariance + covariance, self.error)

    def only(self, which: NDArray[np.bool_]) -> Forecast:
        """Returns the law of some of the quantities."""
        return Forecast(self.mean[which], self.covariance[np.ix_(which, which)], self.error)


@dataclass(frozen=True, slots=True)
class Posterior:
    """A deployment's parameters after its runs.

    machine: the deployment.
    prior: before them; its errors are those of the model.
    logs, covariance: of the parameters, as in Prior.
    runs: the measurements.
    """

    machine: Machine
    prior: Prior
    logs: NDArray[np.float64]
    covariance: NDArray[np.float64]
    runs: tuple[Run, ...]

    @property
    def calibrated(self) -> bool:
        """Whether the probability of a gain can be trusted: a run with drafts makes it so."""
        return self.prior.calibrated or any(run.gamma > 0 for run in self.runs)

    def speed_ups(
        self, load: LoadPoint, draftings: Sequence[Drafting], lengths: Sequence[float]
    ) -> Forecast:
        """Returns the law of the speed-up over the target alone at every drafting.

        Args:
          load: what is served.
          draftings: what blocks draft.
          lengths: tokens a block of each of them, at least 1.
        """
        plain, own = self._works(load, [None], [1.0]), self._works(load, draftings, lengths)
        mean = plain.log_seconds(self.logs) - own.log_seconds(self.logs)
        slopes = plain.slopes(self.logs) - own.slopes(self.logs)
        return Forecast(mean, slopes @ self.covariance @ slopes.T, self.prior.ratio_error)

    def seconds_per_token(
        self, load: LoadPoint, draftings: Sequence[Drafting | None], lengths: Sequence[float]
    ) -> Forecast:
        """Returns the law of the time between two tokens of a sequence; as in speed_ups.

        None among draftings is the target alone, of length 1.
        """
        works = self._works(load, draftings, lengths)
        slopes = works.slopes(self.logs)
        return Forecast(
            works.log_seconds(self.logs),
            slopes @ self.covariance @ slopes.T,
            self.prior.level_error,
        )

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
      prior: of its parameters.
      runs: measurements; without any the posterior is the prior.

    Raises:
      ValueError: if runs contradict each other.
    """
    require_consistent(runs)
    logs, covariance = prior.logs, prior.covariance
    if runs:
        logs, covariance = conclude(prior, Evidence.of(machine, pooled(runs)))
    return Posterior(machine, prior, logs, covariance, tuple(runs))


def conclude(prior: Prior, evidence: Evidence) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the most probable logarithms of the parameters, and their covariance about them."""
    from scipy.optimize import least_squares

    root = np.linalg.cholesky(np.linalg.inv(prior.covariance)).T
    errors = evidence.errors(prior.level_error, prior.ratio_error)

    def residuals(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([root @ (logs - prior.logs), evidence.misfit(logs) / errors])

    def jacobian(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.vstack([root, evidence.slopes(logs) / errors[:, None]])

    found = np.asarray(least_squares(residuals, prior.logs, jac=jacobian, method="lm").x)
    slope = jacobian(found)
    return found, np.asarray(np.linalg.inv(slope.T @ slope))
