"""An oracle that knows how many drafted tokens will be accepted: Leviathan et al. 2023, §3.5."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.choice.optimum import optimal_gamma
from simulator.choice.walltime import improvement_factor
from simulator.numerics.arguments import non_negative, probability
from simulator.numerics.elementwise import elementwise

# What an oracle's gain over the best fixed γ stays below (oracle_gain proves it), and comes as near
# as one likes: for α → 1 with c = (1 - α)/(e - 2), where the best γ is 1/(1 - α).
SUPREMUM = np.e / (np.e - 1)


def oracle_improvement_factor(alpha: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
    """Returns the speed-up when each block drafts just what will be accepted.

        1/(1 - α) / (1 + c α/(1 - α)) = 1 / (1 - α + αc)

    A block yields 1/(1 - α) tokens (Leviathan et al. 2023, §3.5), all but one of them drafted at c
    each; one target call verifies them. Where c ≥ 1 the oracle, too, does not speculate: 1.

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


def oracle_gain(alpha: ArrayLike, c: ArrayLike, *, max_gamma: int) -> NDArray[np.float64]:
    """Returns how many times faster the oracle is than the best fixed γ.

    Leviathan et al. 2023, §3.5, put it at up to about 60 %. With max_gamma large enough never to
    bind it is below SUPREMUM = 1/(1 - 1/e), 58 %, for every α < 1 and every c. Where c ≥ 1 it is 1.
    Else let m = 1/(1 - α): the oracle drafts m - 1 tokens on average and emits m. With k the
    integer part of m - 1 and θ the rest, blocks that draft k + 1 tokens with probability θ, and k
    otherwise, cost on average what the oracle's do and yield, of its tokens, the share

        1 - α^(k+1) (1 - θ/m) > 1 - e^(-(k+1)/m) e^(-θ/m) = 1 - 1/e

    (as α = 1 - 1/m, and 1 - x < e^-x). The better of the two fixed lengths is no slower than their
    mixture.

    Args:
      alpha: acceptance rate in [0, 1], shape (...).
      c: time of one draft step over time of one target step, at least 0; broadcasts with alpha.
      max_gamma: the largest fixed γ considered, at least 1.

    Raises:
      ValueError: if an argument is out of range or not a number.
    """
    gamma = optimal_gamma(alpha, c, max_gamma=max_gamma)
    return oracle_improvement_factor(alpha, c) / improvement_factor(alpha, gamma, c)


def _oracle(alpha: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.maximum(1 / (1 - alpha + alpha * c), 1.0)
