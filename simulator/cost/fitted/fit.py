"""Fits a deployment's parameters to its runs, and gives the cost of blocks that follows.

Runs are equations in the parameters, which have a lognormal prior, and in deviations of their own
(`simulator.cost.fitted.deviations`). Draws of both, given the runs, are found by randomised
maximum likelihood (Oliver, He and Reynolds 1996; Bardsley et al. 2014): each draw of the prior and
of the noise is moved to the most probable parameters under its own shifted prior and data,

    θ_s = argmin_θ |P^{1/2} (θ - θ_0 - ξ_s)|² + |R^{-1/2} (y - log machine(θ) - v_s - ε_s)|²,

where v_s are drawn deviations of the runs, ε_s their noise and R = Cov(v) + Cov(ε). For a linear
machine these are exact draws of the posterior; for others random steps correct them
(`Problem.corrected`). Deviations at any place x follow (Matheron's rule):

    v_s(x | runs) = v_s(x) + Cov(v(x), v) R⁻¹ (y - log machine(θ_s) - v_s - ε_s).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, exp

import numpy as np
from numpy.typing import ArrayLike

from simulator.cost.cost import Cost
from simulator.cost.fitted.deviations import drawn_scales
from simulator.cost.fitted.draws import Draws, apart
from simulator.cost.fitted.machine import Machine, Work, seconds_of
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.problem import Problem
from simulator.cost.fitted.runs import LoadPoint, Run, impossible, pooled
from simulator.cost.setting import CostSetting
from simulator.numerics.arguments import Floats
from simulator.numerics.elementwise import by_gamma


def infer(machine: Machine, prior: Prior, runs: Sequence[Run]) -> Posterior:
    """Returns the posterior of a deployment's parameters and deviations.

    Several runs of one load and γ contribute their mean. Impossible runs contribute nothing.
    """
    means = pooled(runs)
    left_out = impossible(means)
    used = [run for run in means if run not in left_out]
    if not used:
        draws = Draws.of_prior(prior)
        return Posterior(machine, prior, tuple(runs), prior.logs, prior.covariance, draws)
    problem = Problem.of(machine, prior, used)
    likeliest, covariances, weights = problem.modes()
    scales = drawn_scales(weights)
    away = apart(prior)
    values, factors = np.empty_like(away), np.empty((len(away), len(used)))
    deviations = problem.deviations(np.array(prior.jumps)[scales, 0])
    for scale in np.unique(scales).tolist():
        these = scales == scale
        data = problem.measured - deviations[these]
        drawn = problem.solved(scale, away[these], data, likeliest[scale])
        values[these] = problem.corrected(scale, drawn, likeliest[scale])
        left = data - problem.modelled(values[these])
        factors[these] = left @ problem.precision[scale]
    best = int(weights.argmax())
    draws = Draws(values, scales, problem.places, factors)
    return Posterior(machine, prior, tuple(runs), likeliest[best], covariances[best], draws)


@dataclass(frozen=True, slots=True)
class ParametricCost(Cost):
    """Cost of a server's blocks under one load: the medians of its posterior.

    Drafting times follow from the most probable parameters.
    """

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
        return exp(self.posterior.median(self.point, 0))

    @property
    def c(self) -> float:
        """Drafting time that a second drafted token adds, divided by the time of a target step."""
        first, second = self.drafting_seconds([1, 2])
        return float(second - first) / self.step_seconds

    def drafting_seconds(self, gamma: ArrayLike) -> Floats:
        work = self.posterior.machine.drafting_work
        return by_gamma(gamma, lambda n: self._seconds(work(self.point, n)) if n > 0 else 0.0)

    def checking_seconds(self, gamma: ArrayLike) -> Floats:
        # A block's median time is the baseline's over the median of their ratio.
        def seconds(n: int) -> float:
            if n == 0:  # deviates from the most probable parameters as at γ = 1
                modes = [self._seconds(self.posterior.machine.checking_work(self.point, k))
                         for k in (1, 2)]  # fmt: skip
                return seconds(1) * modes[0] / modes[1]
            ratio = self.posterior.median(self.point, n)
            return self.baseline_seconds / exp(ratio) - float(self.drafting_seconds(n))

        return by_gamma(gamma, seconds)

    def reading_again(self, rejected: Callable[[int], Floats]) -> ParametricCost:
        known = self.posterior
        machine = replace(known.machine, rejected=rejected)
        return replace(self, posterior=infer(machine, known.prior, known.runs))

    def _seconds(self, work: Work) -> float:
        """Returns the work's time by the most probable parameters, at the level of the medians."""
        known = self.posterior
        plain = seconds_of(known.machine.plain_work(self.point), known.logs)
        return float(seconds_of(work, known.logs) / plain) * self.baseline_seconds
