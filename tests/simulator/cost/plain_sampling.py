"""Plain sampling of a prior, its deviations and its bounds: an oracle without a lattice."""

from dataclasses import dataclass

import numpy as np

from simulator.cost.fitted.machine import seconds_of
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.runs import LoadPoint
from simulator.numerics.arguments import Floats
from simulator.numerics.intervals import ENDS

COUNT = 100_000


@dataclass(frozen=True)
class Sampled:
    """Speed-ups by γ: the probability of a gain, the interval's ends, and the draws' worth."""

    odds: Floats
    low: Floats
    high: Floats
    worth: float


def sampled(posterior: Posterior, load: LoadPoint, lengths: Floats, *, seed: int) -> Sampled:
    """Returns speed-ups at γ = 1, 2, … of a deployment whose runs, if any, are all at `load`.

    Runs weigh each draw by their likelihood. lengths: mean tokens per block at each γ.
    """
    prior, most = posterior.prior, len(lengths)
    generator = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(prior.covariance)
    normal = generator.normal(size=(COUNT, len(values)))
    logs = prior.logs + normal * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    jumps, chances = np.array(prior.jumps).T
    scales = generator.choice(jumps, size=(COUNT, 1), p=chances)
    works = np.array([posterior.machine.token_work(load, gamma, 1.0) for gamma in range(most + 1)])
    times = np.log(seconds_of(works, logs))
    times += prior.level_error * generator.normal(size=(COUNT, 1))
    times[:, 1:] += prior.load_error * generator.normal(size=(COUNT, 1))
    times[:, 1:] += prior.ratio_error * generator.normal(size=(COUNT, most))
    times[:, 1:] += np.cumsum(scales * generator.normal(size=(COUNT, most)), axis=1)
    apart = np.zeros(COUNT)
    for run in posterior.runs:
        known = np.log(run.seconds_per_token * run.length)
        apart -= ((known - times[:, run.gamma]) / run.error) ** 2 / 2
    weights = np.exp(apart - apart.max())
    if not posterior.runs:
        weights *= times[:, 0] >= np.log(posterior.machine.least_seconds(load))
    odds, low, high = np.array(
        [_gain(times[:, 0] - times[:, gamma], weights, lengths[gamma - 1]) for gamma in
         range(1, most + 1)]
    ).T  # fmt: skip
    return Sampled(odds, low, high, float(weights.sum() ** 2 / (weights**2).sum()))


def _gain(ratios: Floats, weights: Floats, length: float) -> tuple[float, float, float]:
    """Returns odds and interval; a block takes at least a step (`ratios` above 0 do not count)."""
    order = np.argsort(ratios)
    order = order[ratios[order] <= 0]
    shares = np.cumsum(weights[order]) / weights[order].sum()
    gains = np.exp(ratios[order]) * length
    low, high = np.interp(ENDS, shares, gains)
    return 1 - float(np.interp(1.0, gains, shares, left=0.0, right=1.0)), low, high
