"""Fits a deployment's parameters to its runs, and gives the cost of blocks that follows.

Runs are equations in the parameters, which have a lognormal prior. The most probable parameters
given the runs are found by least squares. Their logarithms are taken as normal around that point,
with a covariance from the curvature there (Laplace's approximation; Tierney and Kadane 1986).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import Cost
from simulator.cost.fitted.machine import COUNT, Machine, Work, log_slopes, seconds_of
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.runs import LoadPoint, Run, pooled
from simulator.cost.setting import CostSetting
from simulator.numerics.arguments import Floats
from simulator.numerics.elementwise import by_gamma

# Least standard deviation of a load's effect, at which loads have practically no effect.
_NO_ERROR = 1e-6


@dataclass(frozen=True, slots=True)
class Evidence:
    """Measurements of n runs, as logarithms: speed-ups where `paired`, else seconds per token.

    own, plain: the machine's `Work` per emitted token at each run's γ, and without speculation at
      the run's load, shape (n, COUNT + 1).
    drafted: whether each run speculated, shape (n,).
    paired: whether each run speculated and its load was also run without speculation, shape (n,).
    measured: the logarithms, shape (n,). noise: their standard deviations due to the runs' `error`.
    loads: the loads of the paired runs, without repetition.
    at_load: entry (i, j) is 1 if run i is paired and has load j, else 0.
    """

    own: Work
    plain: Work
    paired: NDArray[np.bool_]
    drafted: NDArray[np.bool_]
    measured: Floats
    noise: Floats
    loads: tuple[LoadPoint, ...]
    at_load: Floats

    @classmethod
    def of(cls, machine: Machine, runs: Sequence[Run]) -> Evidence:
        """Returns the evidence of runs; speed-ups are over the mean of runs without drafts."""
        times = np.log([run.seconds_per_token for run in runs])
        errors = np.array([run.error for run in runs])
        drafted = np.array([run.gamma > 0 for run in runs])
        plain: dict[LoadPoint, list[int]] = defaultdict(list)
        for place in np.flatnonzero(~drafted).tolist():
            plain[runs[place].load].append(place)
        paired = drafted & [run.load in plain for run in runs]
        # A run without a baseline is its own baseline, which has no effect below.
        baselines = [plain.get(run.load, [place]) for place, run in enumerate(runs)]
        before = np.array([times[each].mean() for each in baselines])
        error = np.array([errors[each[-1]] for each in baselines])
        of_pairs = [run.load if each else None for run, each in zip(runs, paired, strict=True)]
        loads = tuple(dict.fromkeys(load for load in of_pairs if load is not None))
        at_load = [[own == load for load in loads] for own in of_pairs]
        return cls(
            np.array([machine.run_work(run) for run in runs]),
            np.array([machine.token_work(run.load, 0, 1.0) for run in runs]),
            paired,
            drafted,
            np.where(paired, before - times, times),
            np.where(paired, np.hypot(errors, error), errors),
            loads,
            np.array(at_load, dtype=np.float64).reshape(len(runs), len(loads)),
        )

    def errors(self, level_error: float, ratio_error: float) -> Floats:
        """Returns each `misfit`'s standard deviation, from `noise` and two errors of a `Prior`."""
        unpaired = np.hypot(level_error, ratio_error * self.drafted)
        return np.asarray(np.hypot(np.where(self.paired, ratio_error, unpaired), self.noise))

    def misfit(self, logs: Floats) -> Floats:
        """Returns log(modelled / measured) of each run; logs: logarithms θ of the parameters."""
        own, plain = np.log(seconds_of(self.own, logs)), np.log(seconds_of(self.plain, logs))
        return np.asarray(np.where(self.paired, plain - own, own) - self.measured)

    def slopes(self, logs: Floats) -> Floats:
        """Returns the derivatives of `misfit` with respect to θ (`logs`), shape (n, COUNT)."""
        own = log_slopes(self.own, logs)
        return np.asarray(np.where(self.paired[:, None], log_slopes(self.plain, logs) - own, own))


def infer(machine: Machine, prior: Prior, runs: Sequence[Run]) -> Posterior:
    """Returns the posterior of a deployment's parameters.

    A run with speculation contributes its speed-up over the runs without speculation at its load,
    or its time if there are none. Several runs of one load and γ contribute their mean.
    """
    if not runs:
        return Posterior(machine, prior, prior.logs, prior.covariance, ())
    from scipy.optimize import least_squares

    evidence = Evidence.of(machine, pooled(runs))
    loads = len(evidence.loads)
    root = np.zeros((COUNT + loads,) * 2)
    root[:COUNT, :COUNT] = np.linalg.cholesky(np.linalg.inv(prior.covariance)).T
    root[COUNT:, COUNT:] = np.eye(loads) / max(prior.load_error, _NO_ERROR)
    start = np.concatenate([prior.logs, np.zeros(loads)])
    errors = evidence.errors(prior.level_error, prior.ratio_error)

    def residuals(values: Floats) -> Floats:
        off = evidence.misfit(values[:COUNT]) + evidence.at_load @ values[COUNT:]
        return np.concatenate([root @ (values - start), off / errors])

    def jacobian(values: Floats) -> Floats:
        slopes = np.hstack([evidence.slopes(values[:COUNT]), evidence.at_load])
        return np.vstack([root, slopes / errors[:, None]])

    found = np.asarray(least_squares(residuals, start, jac=jacobian, method="lm").x)
    slope = jacobian(found)
    covariance = np.asarray(np.linalg.inv(slope.T @ slope))
    return Posterior(machine, prior, found, covariance, tuple(runs), evidence.loads)


@dataclass(frozen=True, slots=True)
class ParametricCost(Cost):
    """Cost of a server's blocks under one load, at the most probable parameters."""

    posterior: Posterior = field()
    point: LoadPoint = field()

    @property
    def setting(self) -> CostSetting:
        return CostSetting(batch=self.point.batch)

    @property
    def observed_gamma(self) -> int | None:
        drafted = [run.mean_drafted for run in self.posterior.runs if run.load == self.point]
        return ceil(max(drafted, default=0)) or None

    @property
    def baseline_seconds(self) -> float:
        return self._seconds(self.posterior.machine.plain_work(self.point))

    @property
    def c(self) -> float:
        """Drafting time that a second drafted token adds, divided by the time of a target step."""
        first, second = self.drafting_seconds([1, 2])
        return float(second - first) / self.step_seconds

    def drafting_seconds(self, gamma: ArrayLike) -> Floats:
        work = self.posterior.machine.drafting_work
        return by_gamma(gamma, lambda n: self._seconds(work(self.point, n)) if n > 0 else 0.0)

    def checking_seconds(self, gamma: ArrayLike) -> Floats:
        work = self.posterior.machine.checking_work
        return by_gamma(gamma, lambda n: self._seconds(work(self.point, n + 1)))

    def reading_again(self, rejected: Callable[[int], Floats]) -> ParametricCost:
        known = self.posterior
        machine = replace(known.machine, rejected=rejected)
        return replace(self, posterior=infer(machine, known.prior, known.runs))

    def _seconds(self, work: Work) -> float:
        return float(seconds_of(work, self.posterior.logs))
