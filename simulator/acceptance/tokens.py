"""Tokens per target call: Eq. 1 of Leviathan et al. 2023."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import floats, integers, probability

# Replaces log(0): far below any logarithm that matters, yet finite, so that 0 times it is 0.
_LOG_ZERO = -1e308


def expected_tokens(alpha: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """Returns the mean number of tokens that one target call yields.

        E[τ] = (1 - α^(γ+1)) / (1 - α)        (Leviathan et al. 2023, Eq. 1)

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, an integer >= 0; broadcasts with alpha.
    """
    arguments = {"alpha": probability("alpha", alpha), "gamma": integers("gamma", gamma)}
    return tokens_formula(*floats(arguments))[()]


def accepted_formula(alpha: NDArray[np.float64], gamma: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns α + … + α^γ without checking the arrays.

    The formula is α (1 - α^γ) / (1 - α) with 1 - α^γ from expm1: 1 - α is exact near 1, but the
    plain difference 1 - α^γ would lose all digits there.
    """
    with np.errstate(divide="ignore", over="ignore"):
        exponent = gamma * np.maximum(np.log(alpha), _LOG_ZERO)
    rest = 1 - alpha
    certain = rest == 0
    total = -alpha * np.expm1(exponent) / np.where(certain, 1.0, rest)
    return np.where(certain, gamma, total)


def tokens_formula(alpha: NDArray[np.float64], gamma: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the mean tokens per call by Eq. 1, without checking the arrays."""
    return 1 + accepted_formula(alpha, gamma)
