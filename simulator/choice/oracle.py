"""An oracle that knows how many drafted tokens will be accepted: Leviathan et al. 2023, §3.5."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import non_negative, probability
from simulator.numerics.elementwise import elementwise


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

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    arguments = {"alpha": probability("alpha", alpha), "c": non_negative("c", c)}
    return elementwise(_oracle, arguments)


def _oracle(alpha: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.maximum(1 / (1 - alpha + alpha * c), 1.0)
