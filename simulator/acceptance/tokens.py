"""How many tokens one call of the target yields: Eq. 1 of Leviathan et al. 2023, and its law."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import integers, probability, same_shape
from simulator.numerics.elementwise import elementwise

# Stands in for log(0): far below any logarithm that matters, yet finite, so that 0 times it is 0.
_LOG_ZERO = -1e308


def expected_tokens(alpha: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """Returns the mean number of tokens that one target call yields.

        E[τ] = (1 - α^(γ+1)) / (1 - α)        (Leviathan et al. 2023, Eq. 1)

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, an integer >= 0; broadcasts with alpha.

    Raises:
      ValueError: if alpha or gamma is out of range or not a number.
    """
    arguments = {"alpha": probability("alpha", alpha), "gamma": integers("gamma", gamma)}
    return elementwise(tokens_formula, arguments)


def expected_accepted(alpha: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """Returns the mean number of drafted tokens that one target call accepts.

        E[τ] - 1 = α + α² + … + α^γ           (Leviathan et al. 2023, Eq. 1)

    Arguments and errors as in expected_tokens.
    """
    arguments = {"alpha": probability("alpha", alpha), "gamma": integers("gamma", gamma)}
    return elementwise(accepted_formula, arguments)


def unbounded_tokens(alpha: ArrayLike) -> NDArray[np.float64]:
    """Returns the mean number of tokens of a target call that verifies drafts of any length.

        1 / (1 - α)                           (Leviathan et al. 2023, §3.5 and §3.6)

    The limit of Eq. 1 for large γ; infinite at α = 1.

    Raises:
      ValueError: if alpha is out of range or not a number.
    """
    with np.errstate(divide="ignore"):
        tokens: NDArray[np.float64] = np.divide(1, 1 - probability("alpha", alpha))
    return tokens


def tokens_distribution(alpha: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """Returns the law of τ, the number of tokens that one target call yields.

        P(τ = k) = (1 - α) α^(k-1) for k ≤ γ,   P(τ = γ + 1) = α^γ

    A geometric variable capped at γ + 1 (Leviathan et al. 2023, §3.1).

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, an integer >= 0; broadcasts with alpha.

    Returns:
      shape (..., max(gamma) + 1); entry k - 1 is P(τ = k).

    Raises:
      ValueError: if alpha or gamma is out of range or not a number.
    """
    rate = probability("alpha", alpha)
    length = integers("gamma", gamma)
    same_shape({"alpha": rate, "gamma": length})
    rate, length = rate[..., np.newaxis], length[..., np.newaxis]
    k = np.arange(1, length.max(initial=0) + 2)
    return np.select(
        [k <= length, k == length + 1], [(1 - rate) * rate ** (k - 1), rate**length], default=0.0
    )


def accepted_formula(
    alpha: NDArray[np.float64], gamma: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns α + … + α^γ for arrays already checked.

    Written as α (1 - α^γ) / (1 - α) with 1 - α^γ from expm1: 1 - α is exact near 1, and the plain
    difference 1 - α^γ would lose all digits there.
    """
    with np.errstate(divide="ignore", over="ignore"):
        exponent = gamma * np.maximum(np.log(alpha), _LOG_ZERO)
    rest = 1 - alpha
    certain = rest == 0
    total = -alpha * np.expm1(exponent) / np.where(certain, 1.0, rest)
    return np.where(certain, gamma, total)


def tokens_formula(alpha: NDArray[np.float64], gamma: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns Eq. 1 for arrays already checked."""
    return 1 + accepted_formula(alpha, gamma)
