"""The speed-up of each γ from acceptance and cost, the best γ, and the break-even acceptance.

Every speed-up is `speed_up`: the baseline's time per token over the time per token with blocks.
For `Iid` and `Ratio` this is Theorem 8 of Leviathan et al. 2023 (`walltime`).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance
from simulator.acceptance.conversions import alpha_from_block_efficiency
from simulator.choice.walltime import TIE
from simulator.cost.cost import Cost
from simulator.numerics.arguments import integer, integers


def speed_up(acceptance: Acceptance, cost: Cost, gamma: ArrayLike) -> NDArray[np.float64]:
    """Returns the expected speed-up over the baseline (no speculation); 1 at γ = 0.

    Args:
      acceptance: how often drafts are accepted.
      cost: times of blocks and of the baseline.
      gamma: drafted tokens per block, at least 0, shape (...).
    """
    length = integers("gamma", gamma)
    drafting = np.maximum(length, 1)
    factor = cost.baseline_seconds / acceptance.seconds_per_token(drafting, cost)
    return np.where(length == 0, 1.0, factor)[()]


def draftable(gamma: ArrayLike, multiple: int) -> NDArray[np.bool_]:
    """Returns whether a draft of several layers, one for each token, can draft γ tokens.

    It drafts fewer than it has layers, or runs all of them again: a multiple of them.

    Args:
      gamma: drafted tokens per block, shape (...).
      multiple: its layers, at least 1.
    """
    length = np.asarray(gamma)
    return np.asarray((length <= multiple) | (length % multiple == 0))


def best_gamma(acceptance: Acceptance, cost: Cost, *, max_gamma: int) -> int:
    """Returns the smallest γ that maximises the speed-up; 0: do not speculate.

    Args:
      max_gamma: the largest γ considered, at least 1.
    """
    gammas = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)
    return first_best(gammas, speed_up(acceptance, cost, gammas))


def first_best(gammas: NDArray[np.int64], factors: NDArray[np.float64]) -> int:
    """Returns the smallest γ of the largest speed-up above 1, 0 without one.

    A scan, since curves may have any shape; gains that rounding could fake are ties.
    """
    best, factor = 0, 1.0
    for gamma, longer in zip(gammas.tolist(), factors.tolist(), strict=True):
        if longer > factor * (1 + TIE):
            best, factor = gamma, longer
    return best


def break_even_alpha(cost: Cost, *, max_gamma: int) -> float:
    """Returns the rate of i.i.d. acceptances above which some γ up to max_gamma gains.

    A block of γ gains when E[τ] exceeds its cost in baseline tokens, and E[τ] rises with α from
    1 to γ + 1. Under Theorem 8 the rate is c (Leviathan et al. 2023, Corollary 9).

    Args:
      cost: times of blocks and of the baseline.
      max_gamma: the largest γ considered, at least 1.

    Returns:
      a rate in [0, 1]: no rate up to this one gains, with one exception: at 0 every α above 0
      gains, and α = 0 gains, too, if some block costs less than a baseline token (whose overhead
      it then saves). 1: a perfect draft breaks even at best. NaN: not even a perfect draft does.
    """
    gamma = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)
    needed = np.maximum(cost.block_seconds(gamma) / cost.baseline_seconds, 1.0)
    possible = needed <= gamma + 1
    if not possible.any():
        return float("nan")
    return float(alpha_from_block_efficiency(needed[possible], gamma[possible]).min())


def break_even_c(acceptance: Acceptance, cost: Cost, *, max_gamma: int) -> float:
    """Returns the smallest c at which no γ up to max_gamma gains, other times unchanged.

    Args:
      acceptance: how often drafts are accepted.
      cost: times of blocks; their steady draft steps are replaced by steps of c target steps.
      max_gamma: the largest γ considered, at least 1.

    Returns:
      at least 0; below it some γ gains. 0: a draft that costs nothing breaks even at best. NaN:
      even that one loses, or nothing is ever drafted.
    """
    gamma = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)

    def all_else(lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(cost.block_seconds(lengths) - lengths * cost.c * cost.step_seconds)

    spare = cost.baseline_seconds - acceptance.per_token(all_else, gamma)
    drafted = acceptance.drafted_per_token(gamma)
    if not drafted.any():
        return float("nan")
    c = float((spare[drafted > 0] / drafted[drafted > 0]).max()) / cost.step_seconds
    return c if c >= 0 else float("nan")
