"""Arithmetic and memory traffic of speculative decoding: Leviathan et al. 2023, §3.4."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import tokens_formula
from simulator.numerics.arguments import integers, non_negative, probability
from simulator.numerics.elementwise import elementwise


def operations_factor(
    alpha: ArrayLike, gamma: ArrayLike, c_hat: ArrayLike
) -> NDArray[np.float64]:
    """Returns by what factor the number of arithmetic operations grows.

        (1 - α)(γĉ + γ + 1) / (1 - α^(γ+1))   (Leviathan et al. 2023, Theorem 10)

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, an integer >= 0; all three broadcast.
      c_hat: operations of one draft step over those of one target step, at least 0.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    return elementwise(
        lambda alpha, gamma, c_hat: (gamma * c_hat + gamma + 1) / tokens_formula(alpha, gamma),
        {
            "alpha": probability("alpha", alpha),
            "gamma": integers("gamma", gamma),
            "c_hat": non_negative("c_hat", c_hat),
        },
    )


def memory_access_factor(alpha: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """Returns by what factor reads of the target's weights and cache shrink.

        1 / E[τ] = (1 - α) / (1 - α^(γ+1))    (Leviathan et al. 2023, §3.4)

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, an integer >= 0; broadcasts with alpha.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    return elementwise(
        lambda alpha, gamma: 1 / tokens_formula(alpha, gamma),
        {"alpha": probability("alpha", alpha), "gamma": integers("gamma", gamma)},
    )
