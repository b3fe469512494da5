"""Fits a deployment's parameters to its runs, and gives the cost of blocks that follows.

Runs are equations in the parameters θ, which have a lognormal prior, and in deviations v of their
own (`simulator.cost.fitted.deviations`) and noise ε, all normal:

    y = log machine(θ) + v + ε,   so that   p(y | θ, τ) = N(y; log machine(θ), R),

with R = Cov(v) + Cov(ε), which depends on the size τ of jumps. Draws θ_s of p(θ) p(y | θ) are
weighted (`Problem.sampled`), then resampled to equally likely ones; τ_s follows p(τ | y, θ_s).
Deviations at any place x follow (Matheron's rule), from draws v_s and ε_s without runs:

    v_s(x | runs) = v_s(x) + Cov(v(x), v) R⁻¹ (y - log machine(θ_s) - v_s - ε_s).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from simulator.cost.cost import Cost
from simulator.cost.fitted.deviations import drawn_scales
from simulator.cost.fitted.draws import Draws, apart
from simulator.cost.fitted.machine import Machine
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.problem import Problem, weighted_covariance
from simulator.cost.fitted.runs import LoadPoint, Run, impossible, pooled
from simulator.cost.setting import CostSetting
from simulator.numerics.arguments import Floats, integers
from simulator.numerics.elementwise import by_gamma
from simulator.numerics.lattice import normal_column

# A draft length, where no run has drafts; the column of `normal_column` that orders the draws.
_TYPICAL, _ORDER = 4, 17


def infer(
    machine: Machine, prior: Prior, runs: Sequence[Run], bare: Posterior | None = None
) -> Posterior:
    """Returns the posterior of a deployment's parameters and deviations.

    Several runs of one load and γ contribute their mean. Impossible runs contribute nothing.
    bare: the server without a draft, whose steps are the baseline's until a run is used.
    """
    means = pooled(runs)
    left_out = impossible(runs)
    used = [run for run in means if run not in left_out]
    if not used:
        of_prior = cache(partial(Draws.of_prior, prior))
        laws = (prior.logs, prior.covariance, of_prior, bare)
        return Posterior(machine, prior, tuple(runs), *laws)
    problem = Problem.of(machine, prior, used)
    weighted, weights = problem.sampled()
    # In the order of the ratio of a block and a step, a regular sample represents speed-ups best.
    load, longest = used[0].load, max(run.mean_drafted for run in used)
    works = np.array([machine.token_work(load, n, 1.0) for n in (0, ceil(longest) or _TYPICAL)])
    step, block = (np.exp(weighted) @ works[:, problem.active].T + works[:, -1]).T
    order = np.argsort(block / step)
    heaped = np.cumsum(weights[order])

    @cache
    def draws(count: int) -> Draws:
        shares = (np.argsort(np.argsort(normal_column(_ORDER, count))) + 0.5) / count
        active = weighted[order[np.minimum(np.searchsorted(heaped, shares), len(order) - 1)]]
        # Parameters that no run depends on follow the others by the prior's covariance.
        values = prior.logs + apart(prior, count)
        values += (active - values[:, problem.active]) @ problem.following
        modelled = problem.modelled(active)
        chances = problem.likelihoods(modelled).T
        scales = drawn_scales(np.exp(chances - chances.max(axis=1, keepdims=True)), count)
        left = problem.measured - modelled - problem.deviations(np.array(prior.jumps)[scales, 0])
        for scale, precision in enumerate(problem.precision):
            left[scales == scale] = left[scales == scale] @ precision
        return Draws(values, scales, problem.places, left)

    learnt = weighted_covariance(weighted, weights)
    learnt = learnt - np.linalg.inv(problem.inverse)
    covariance = prior.covariance + problem.following.T @ learnt @ problem.following
    away = problem.mode(weights @ weighted) - prior.logs[problem.active]
    mode = prior.logs + away @ problem.following
    return Posterior(machine, prior, tuple(runs), mode, covariance, draws)


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
        return float(np.exp(self.posterior.medians(self.point, [0])[0]))

    @property
    def c(self) -> float:
        """Drafting time that a second drafted token adds, divided by the time of a target step."""
        first, second = self.drafting_seconds([1, 2])
        return float(second - first) / self.step_seconds

    def drafting_seconds(self, gamma: ArrayLike) -> Floats:
        known, baseline = self.posterior, self.baseline_seconds
        return by_gamma(
            gamma, lambda n: known.drafting_ratio(self.point, n) * baseline if n > 0 else 0.0
        )

    def checking_seconds(self, gamma: ArrayLike) -> Floats:
        known, point, baseline = self.posterior, self.point, self.baseline_seconds
        lengths = sorted({1, *integers("gamma", gamma).ravel().tolist()} - {0})
        # A block's median time is the baseline's over the median of their ratio.
        medians = zip(lengths, np.exp(-known.medians(point, lengths)).tolist(), strict=True)
        ratios = {n: block - known.drafting_ratio(point, n) for n, block in medians}
        # At γ = 0 it deviates from the most probable parameters as at γ = 1.
        ratios[0] = ratios[1] * known.checking_ratio(point, 1) / known.checking_ratio(point, 2)
        return by_gamma(gamma, lambda n: ratios[n] * baseline)

    def reading_again(self, rejected: Callable[[int], Floats]) -> ParametricCost:
        known = self.posterior
        machine = replace(known.machine, rejected=rejected)
        posterior = infer(machine, known.prior, known.runs, known.bare)
        return replace(self, posterior=posterior)
