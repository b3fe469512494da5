"""Runs as equations in a deployment's parameters: logarithms of times and of speed-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.cost.fitted.machine import COUNT, Drafting, LoadPoint, Machine, Work, Works
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.runs import Run, pooled

# A load's own error is at least this: effects of loads then are none.
_NO_ERROR = 1e-6


@dataclass(frozen=True, slots=True)
class Evidence:
    """Logarithms of n measurements: speed-ups where `paired`, else times per token.

    own, plain: work per emitted token as the run decoded, and without speculation.
    paired: whether there is a run without speculation at the run's load, shape (n,).
    drafted: whether the run speculated, shape (n,).
    measured: the logarithms, shape (n,).
    noise: standard deviations of `measured` from the runs' own errors, shape (n,).
    loads: the loads of the paired runs.
    at_load: 1 if a run is paired and at that load, else 0; shape (n, number of loads).
    """

    own: Works
    plain: Works
    paired: NDArray[np.bool_]
    drafted: NDArray[np.bool_]
    measured: NDArray[np.float64]
    noise: NDArray[np.float64]
    loads: tuple[LoadPoint, ...]
    at_load: NDArray[np.float64]

    @classmethod
    def of(cls, machine: Machine, runs: Sequence[Run]) -> Evidence:
        """Returns a machine's runs; runs with drafts are compared with plain runs at their load.

        The plain time is the geometric mean of the load's plain runs.
        """
        alone: dict[LoadPoint, list[float]] = {}
        for run in runs:
            if run.drafting is None:
                alone.setdefault(run.load, []).append(float(np.log(run.seconds_per_token)))
        plain_error = {run.load: run.error for run in runs if run.drafting is None}
        paired = [run.drafting is not None and run.load in alone for run in runs]
        loads = tuple(
            dict.fromkeys(run.load for run, compared in zip(runs, paired, strict=True) if compared)
        )
        measured = [
            np.mean(alone[run.load]) - np.log(run.seconds_per_token)
            if compared
            else np.log(run.seconds_per_token)
            for run, compared in zip(runs, paired, strict=True)
        ]
        return cls(
            Works.of([_run_work(machine, run) for run in runs]),
            Works.of([machine.token_work(run.load, None, 1.0) for run in runs]),
            np.array(paired, dtype=np.bool_),
            np.array([run.drafting is not None for run in runs], dtype=np.bool_),
            np.array(measured, dtype=np.float64),
            np.array(
                [
                    np.hypot(run.error, plain_error[run.load] if compared else 0.0)
                    for run, compared in zip(runs, paired, strict=True)
                ],
                dtype=np.float64,
            ),
            loads,
            np.array(
                [
                    [float(compared and run.load == load) for load in loads]
                    for run, compared in zip(runs, paired, strict=True)
                ]
            ).reshape(len(runs), len(loads)),
        )

    def errors(self, level_error: float, ratio_error: float) -> NDArray[np.float64]:
        """Returns the standard deviation of each measured logarithm, shape (n,)."""
        alone = np.hypot(level_error, ratio_error * self.drafted)
        return np.asarray(np.hypot(np.where(self.paired, ratio_error, alone), self.noise))

    def misfit(self, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the modelled minus the measured logarithms, shape (n,)."""
        own = self.own.log_seconds(logs)
        modelled = np.where(self.paired, self.plain.log_seconds(logs) - own, own)
        return np.asarray(modelled - self.measured)

    def slopes(self, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the derivatives of the misfits by θ, shape (n, COUNT)."""
        own = self.own.slopes(logs)
        return np.asarray(np.where(self.paired[:, None], self.plain.slopes(logs) - own, own))


def _run_work(machine: Machine, run: Run) -> Work:
    """Returns a run's work per emitted token, linear between whole numbers of drafted tokens."""
    if run.drafted is None:
        return machine.token_work(run.load, run.drafting, run.length)
    least = max(1, int(run.drafted))
    below, above = (
        machine.token_work(run.load, Drafting(gamma), run.length) for gamma in (least, least + 1)
    )
    return below.plus(above.plus(below, -1), run.drafted - least)


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
