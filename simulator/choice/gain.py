"""The speed-up of each γ from acceptance and cost, the best γ, and break-even points.

A speed-up is the baseline's time per token over the time per token with speculation. For `Iid` and
`Ratio` it is Theorem 8 of Leviathan et al. 2023 (`walltime`).
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
    """Returns whether a draft with `multiple` layers, one for each position, can draft γ tokens.

    It drafts at most as many tokens as it has layers, or a multiple of that number.

    Args:
      gamma: drafted tokens per block, shape (...).
      multiple: number of layers, at least 1.
    """
    length = np.asarray(gamma)
    return np.asarray((length <= multiple) | (length % multiple == 0))


def best_gamma(acceptance: Acceptance, cost: Cost, *, max_gamma: int) -> int:
    """Returns the smallest γ that maximises the speed-up; 0: do not speculate.

    max_gamma: the largest γ considered, at least 1.
    """
    gammas = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)
    return first_best(gammas, speed_up(acceptance, cost, gammas))


def first_best(gammas: NDArray[np.int64], factors: NDArray[np.float64]) -> int:
    """Returns the smallest γ with the largest speed-up above 1; 0 if no γ gains.

    All γ are compared, since curves may have any shape. Differences within rounding are ties.
    """
    best, factor = 0, 1.0
    for gamma, longer in zip(gammas.tolist(), factors.tolist(), strict=True):
        if longer > factor * (1 + TIE):
            best, factor = gamma, longer
    return best


def break_even_alpha(cost: Cost, *, max_gamma: int) -> float:
    """Returns the i.i.d. acceptance rate above which some γ up to max_gamma gains.

    A block of γ tokens gains if E[τ] exceeds its cost in baseline tokens; E[τ] rises with α from 1
    to γ + 1. Under Theorem 8 the rate is c (Leviathan et al. 2023, Corollary 9).

    Args:
      cost: times of blocks and of the baseline.
      max_gamma: the largest γ considered, at least 1.

    Returns:
      a rate in [0, 1] up to which no γ gains. 0: every α above 0 gains; α = 0 gains, too, if some
      block costs less than a baseline token. 1: a perfect draft only breaks even. NaN: even a
      perfect draft loses.
    """
    gamma = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)
    needed = np.maximum(cost.block_seconds(gamma) / cost.baseline_seconds, 1.0)
    possible = needed <= gamma + 1
    if not possible.any():
        return float("nan")
    return float(alpha_from_block_efficiency(needed[possible], gamma[possible]).min())


def break_even_c(acceptance: Acceptance, cost: Cost, *, max_gamma: int) -> float:
    """Returns the smallest c at which no γ up to max_gamma gains, all other times unchanged.

    Args:
      acceptance: how often drafted tokens are accepted.
      cost: times of blocks; each draft step is set to c target steps.
      max_gamma: the largest γ considered, at least 1.

    Returns:
      at least 0; below it some γ gains. 0: a draft that costs nothing only breaks even. NaN: even a
      draft that costs nothing loses, or no token is ever drafted.
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
