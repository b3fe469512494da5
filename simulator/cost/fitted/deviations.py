"""How a server's times deviate from its machine: by load, by γ, and with jumps between γ.

The logarithm of a time that is free of noise is the machine's, plus deviations of its load:

    log t(γ) = log machine(γ; θ) + level + [γ > 0] (shared + own(γ) + Σ_{k ≤ γ} jump(k))

All terms are normal with mean 0. `level`, `shared` and `own` have the standard deviations
`level_error`, `load_error` and `ratio_error` of a `Prior`. The jumps are a random walk over γ: a
step's time jumps where kernels change at a size or a captured graph ends, and stays there. Their
standard deviation τ is unknown (`Prior.jumps`); runs that a smooth machine misses make the larger
ones likely.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.runs import LoadPoint
from simulator.numerics.arguments import Floats
from simulator.numerics.lattice import DRAWS, normal_column, normal_draws

# Longer drafts take the deviations of this γ.
LONGEST = 32
# Columns of `normal_column`: τ, the parameters, and then a group for each load.
_SCALE, PARAMETER_COLUMNS, _LOADS = 0, 1, 20
_GROUP = 2 + 2 * LONGEST


@dataclass(frozen=True, slots=True)
class Place:
    """A load and a draft length, possibly not a whole number; 0: no speculation."""

    load: LoadPoint
    gamma: float


def covariance(places: Sequence[Place], others: Sequence[Place], prior: Prior) -> Floats:
    """Returns the covariance of deviations for each τ of the prior, shape (τ, n, m)."""
    same = np.array([[one.load == other.load for other in others] for one in places])
    mine = np.minimum([place.gamma for place in places], LONGEST)[:, None]
    theirs = np.minimum([place.gamma for place in others], LONGEST)[None, :]
    equal = np.where(mine == theirs, prior.ratio_error**2, 0.0) + prior.load_error**2
    jumps = np.array(prior.jumps)[:, :1, None] ** 2 * np.minimum(mine, theirs)
    drafted = (mine > 0) & (theirs > 0)
    variance = prior.level_error**2 + np.where(drafted, equal + jumps, 0.0)
    return np.asarray(np.where(same.reshape(mine.size, theirs.size), variance, 0.0))


def drawn(places: Sequence[Place], group: int, scales: Floats, prior: Prior) -> Floats:
    """Returns draws of the deviations at places of one load, before any run, shape (draws, n).

    group: number of the load; loads of different groups deviate independently.
    scales: τ of each draw, shape (draws,).
    """
    first, count = _LOADS + group * _GROUP, len(scales)
    level = prior.level_error * normal_column(first, count)
    shared = prior.load_error * normal_column(first + 1, count)
    jumps = LONGEST if scales.any() else 0
    walk = np.cumsum(normal_draws(first + 2, jumps, count), axis=1)
    columns = []
    for place in places:
        gamma = min(place.gamma, LONGEST)
        if gamma == 0:
            columns.append(level)
            continue
        whole = int(gamma)
        reached = walk[:, whole - 1] if min(whole, jumps) > 0 else np.zeros_like(level)
        if gamma > whole:
            # A walk of variance γ has the variance of a part of its next step, too.
            step = normal_column(first + 2 + min(whole, LONGEST - 1), count)
            reached = reached + np.sqrt(gamma - whole) * step
        of_ratio = prior.ratio_error * normal_column(first + 1 + LONGEST + max(whole, 1), count)
        columns.append(level + shared + of_ratio + scales * reached)
    return np.stack(columns, axis=1)


def noise_column(index: int, groups: int, draws: int) -> Floats:
    """Returns normal draws of a run's noise; index: of the run; groups: number of all loads."""
    return normal_column(_LOADS + groups * _GROUP + index, draws)


def drawn_scales(probabilities: Floats, draws: int = DRAWS) -> NDArray[np.int64]:
    """Returns for each draw the index of its τ, shape (draws,).

    probabilities: up to a factor, of each τ, shape (τ,), or of each draw, too, (draws, τ).
    """
    ranks = np.argsort(np.argsort(normal_column(_SCALE, draws)))
    sums = np.cumsum(probabilities, axis=-1)
    shares = (ranks + 0.5) / draws
    return np.asarray((sums[..., :-1] / sums[..., -1:] <= shares[:, None]).sum(axis=1))
