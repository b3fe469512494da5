"""Roots of many increasing functions at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

# Each step halves the bracket: this many leave less than float64 resolves of a bracket within
# [0, 1] whose root is not tiny.
_STEPS = 64


def bisect(
    increasing: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Returns, for each bracket, the point where the increasing function passes 0.

    Args:
      increasing: maps an array to function values of one shape.
      low, high: ends of the brackets, of one shape. A function without a sign change in its bracket
        gives the end nearer to a sign change.
    """
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        below = increasing(middle) < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)
