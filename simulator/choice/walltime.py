"""Walltime when verification is free: Theorem 8 and Corollary 9 of Leviathan et al. 2023."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import tokens_formula
from simulator.numerics.arguments import integers, non_negative, probability, same_shape
from simulator.numerics.elementwise import elementwise


def improvement_factor(alpha: ArrayLike, gamma: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
    """Returns the expected speed-up over decoding with the target alone.

        (1 - α^(γ+1)) / ((1 - α)(γc + 1))     (Leviathan et al. 2023, Theorem 8)

    Verifying γ + 1 tokens is taken to cost what decoding one does, and texts to be long. At γ = 0
    (do not speculate) the factor is 1.

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, an integer >= 0; all three broadcast.
      c: time of one draft step over time of one target step, at least 0.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    return elementwise(
        improvement_formula,
        {
            "alpha": probability("alpha", alpha),
            "gamma": integers("gamma", gamma),
            "c": non_negative("c", c),
        },
    )


def lower_bound(alpha: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
    """Returns a factor that the best γ reaches at least.

        (1 + α) / (1 + c) if α > c            (Leviathan et al. 2023, Corollary 9)

    Where α ≤ c no γ helps, and the best choice, not to speculate, gives 1, to which the bound falls
    without a jump.

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      c: time of one draft step over time of one target step; broadcasts with alpha.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    rate, cost = probability("alpha", alpha), non_negative("c", c)
    same_shape({"alpha": rate, "c": cost})
    return np.maximum(1.0, (1 + rate) / (1 + cost))


def improvement_formula(
    alpha: NDArray[np.float64], gamma: NDArray[np.float64], c: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns Theorem 8 for arrays already checked."""
    return tokens_formula(alpha, gamma) / (1 + gamma * c)
