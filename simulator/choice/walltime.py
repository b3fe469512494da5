"""Walltime, arithmetic and memory traffic in closed form: Leviathan et al. 2023, section 3."""

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
    """
    rate, cost = probability("alpha", alpha), non_negative("c", c)
    same_shape({"alpha": rate, "c": cost})
    return np.maximum(1.0, (1 + rate) / (1 + cost))


def improvement_formula(
    alpha: NDArray[np.float64], gamma: NDArray[np.float64], c: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns Theorem 8 for arrays already checked."""
    return tokens_formula(alpha, gamma) / (1 + gamma * c)


def operations_factor(
    alpha: ArrayLike, gamma: ArrayLike, c_hat: ArrayLike
) -> NDArray[np.float64]:
    """Returns by what factor the number of arithmetic operations grows.

        (1 - α)(γĉ + γ + 1) / (1 - α^(γ+1))   (Leviathan et al. 2023, Theorem 10)

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      gamma: drafted tokens per block, an integer >= 0; all three broadcast.
      c_hat: operations of one draft step over those of one target step, at least 0.
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
    """
    return elementwise(
        lambda alpha, gamma: 1 / tokens_formula(alpha, gamma),
        {"alpha": probability("alpha", alpha), "gamma": integers("gamma", gamma)},
    )


def oracle_improvement_factor(alpha: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
    """Returns the speed-up when each block drafts just what will be accepted.

        1/(1 - α) / (1 + c α/(1 - α)) = 1 / (1 - α + αc)

    A block yields 1/(1 - α) tokens (Leviathan et al. 2023, §3.5), all but one of them drafted at c
    each; one target call verifies them. Where c ≥ 1 the oracle, too, does not speculate: 1. It
    gains less than 1/(1 - 1/e), 58 %, over the best fixed γ, whatever α < 1 and c.

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      c: time of one draft step over time of one target step, at least 0; broadcasts with alpha.

    Returns:
      shape (...); infinite at α = 1, c = 0.
    """
    arguments = {"alpha": probability("alpha", alpha), "c": non_negative("c", c)}
    return elementwise(_oracle, arguments)


def _oracle(alpha: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.maximum(1 / (1 - alpha + alpha * c), 1.0)
