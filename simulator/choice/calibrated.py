"""Walltime at measured prices: what i.i.d. acceptances gain where no part of a block is free.

    improvement(α, γ) = E[τ(γ)] · baseline / block(γ)

Theorem 8 of Leviathan et al. 2023 is the case of `simulator.cost.ratio.Ratio`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.conversions import alpha_from_block_efficiency
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.optimum import TIE
from simulator.cost.cost import Cost
from simulator.numerics.arguments import integer, integers, probability


def calibrated_factor(
    alpha: ArrayLike, gamma: ArrayLike, *, cost: Cost
) -> NDArray[np.float64]:
    """Returns the expected speed-up over the target alone; 1 at γ = 0: do not speculate.

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, at least 0; broadcasts with alpha.
      cost: of blocks and of the target alone.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    length = integers("gamma", gamma)
    seconds = np.where(length == 0, cost.baseline_seconds, cost.block_seconds(length))
    return expected_tokens(alpha, length) * cost.baseline_seconds / seconds


def calibrated_optimum(alpha: ArrayLike, *, cost: Cost, max_gamma: int) -> NDArray[np.int64]:
    """Returns the smallest γ that maximises the improvement; 0: do not speculate.

    A scan, since a measured curve may have any shape.

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      cost: of blocks and of the target alone.
      max_gamma: the largest γ considered, at least 1.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    rate = probability("alpha", alpha)
    best = np.zeros(rate.shape, dtype=np.int64)
    factor = np.ones(rate.shape)
    for gamma in range(1, integer("max_gamma", max_gamma, at_least=1) + 1):
        longer = calibrated_factor(rate, gamma, cost=cost)
        better = longer > factor * (1 + TIE)
        best = np.where(better, gamma, best)
        factor = np.where(better, longer, factor)
    return best[()]


def calibrated_break_even_alpha(cost: Cost, *, max_gamma: int) -> float:
    """Returns the acceptance rate above which some γ up to max_gamma gains.

    A block of γ gains when E[τ] exceeds its cost in baseline tokens, and E[τ] rises with α from
    1 to γ + 1.

    Args:
      cost: of blocks and of the target alone.
      max_gamma: the largest γ considered, at least 1.

    Returns:
      in [0, 1], and at this rate and below none gains, with one exception: at 0 every α above 0
      gains, and 0 does, too, if some block costs less than a token of the target alone (whose
      overhead it then spares). 1: a perfect draft breaks even at best. NaN: not even that.

    Raises:
      ValueError: if max_gamma is out of range.
    """
    gamma = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)
    needed = np.maximum(cost.block_seconds(gamma) / cost.baseline_seconds, 1.0)
    possible = needed <= gamma + 1
    if not possible.any():
        return float("nan")
    return float(alpha_from_block_efficiency(needed[possible], gamma[possible]).min())
