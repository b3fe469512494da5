"""The i.i.d. process written out: the law of a call's tokens, and texts of finite length."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from simulator.cost.cost import Cost


def tokens_law(alpha: float, gamma: int) -> NDArray[np.float64]:
    """Returns P(τ = 1), …, P(τ = γ + 1): a geometric variable capped at γ + 1.

    P(τ = k) = (1 - α) α^(k-1) for k ≤ γ,   P(τ = γ + 1) = α^γ    (Leviathan et al. 2023, §3.1)
    """
    return np.array([*((1 - alpha) * alpha**k for k in range(gamma)), alpha**gamma])


def finite_seconds(alpha: float, gamma: int, *, cost: Cost, length: int) -> float:
    """Returns the expected time of a text, whose last block leaves a token to the target.

    The paper notes that Theorem 8 needs long generations; here is what short ones take.
    """

    @cache
    def seconds(left: int) -> float:
        if left == 0:
            return 0.0
        drafted = min(gamma, left - 1)
        law = tokens_law(alpha, drafted)
        later = sum(odds * seconds(left - tokens) for tokens, odds in enumerate(law, start=1))
        return float(cost.block_seconds(drafted) + later)

    return seconds(length)
