"""Walltime when verification is free: Theorem 8 and Corollary 9 of Leviathan et al. 2023."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.conversions import accepted_fraction, alpha_from_accepted_fraction
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


def break_even_alpha(c: ArrayLike, gamma: ArrayLike = 1) -> NDArray[np.float64]:
    """Returns the acceptance rate at which speculation neither gains nor loses.

    A block of γ drafted tokens gains when its accepted ones are worth more than its drafting, that
    is when accepted_fraction(α, γ) > c. At γ = 1, the default, this is α > c, and where it fails
    every larger γ fails too (Leviathan et al. 2023, Corollary 9): below break_even_alpha(c) no γ
    helps.

    Args:
      c: time of one draft step over time of one target step, shape (...).
      gamma: drafted tokens per block, at least 1; broadcasts with c.

    Returns:
      shape (...), in [0, 1]; above it γ gains, below it γ loses. 0 where c = 0: every rate above 0
      gains. 1 where c = 1: none does. NaN where c > 1: even a perfect draft loses.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    cost = non_negative("c", c)
    rate = np.asarray(alpha_from_accepted_fraction(np.minimum(cost, 1.0), gamma))
    return np.where(cost <= 1, rate, np.nan)[()]


def break_even_c(alpha: ArrayLike, gamma: ArrayLike = 1) -> NDArray[np.float64]:
    """Returns the cost of a draft step at which speculation neither gains nor loses.

    This is accepted_fraction(α, γ) (see break_even_alpha); at γ = 1, the default, it is α, and from
    there on no γ gains (Leviathan et al. 2023, Corollary 9). 0, where α = 0: not even a free draft.

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, at least 1; broadcasts with alpha.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    return accepted_fraction(alpha, gamma)


def improvement_formula(
    alpha: NDArray[np.float64], gamma: NDArray[np.float64], c: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns Theorem 8 for arrays already checked."""
    return tokens_formula(alpha, gamma) / (1 + gamma * c)
