"""Separates the durations of several things from the changing speed of the machine.

A shared machine may need 1.1 ms and then 2.0 ms for one piece of work, for seconds at a time. If
all things run in turns, each once per turn,

    log seconds = level of the thing + speed of the turn + noise

and Tukey's median polish separates levels from speeds, robustly against outliers (Tukey 1977).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

SWEEPS = 20

Array = NDArray[np.float64]


def polish(seconds: ArrayLike, *, sweeps: int = SWEEPS) -> tuple[Array, Array]:
    """Returns the seconds of each timed item at the turns' median speed, and each turn's slowness.

    Args:
      seconds: seconds by item and turn, shape (..., items, turns), above 0; NaN if an item was not
        timed in a turn. Tables along the leading axes are polished separately.
      sweeps: number of alternations between turns and items; the first few do most of the work.

    Returns:
      seconds: seconds of each item, shape (..., items); NaN for an item that was never timed.
      speeds: each turn's durations over durations at the median speed, shape (..., turns); NaN for
        a turn in which nothing was timed.
    """
    left = np.log(np.asarray(seconds, dtype=np.float64))
    # Subtracting medians keeps NaN in place, so the middles of rows stay the same.
    along, across = _median(left, -1), _median(left, -2)
    things, speeds = np.zeros(()), np.zeros(())
    for _ in range(sweeps):
        found = along(left)
        left, things = left - found, things + found
        moved = across(left)
        left, speeds = left - moved, speeds + moved
    middle = _median(speeds, -1)(speeds)
    return np.exp(things + middle)[..., 0], np.exp(speeds - middle)[..., 0, :]


def _median(values: Array, axis: int) -> Callable[[Array], Array]:
    """Returns a function that takes medians along an axis and ignores NaN.

    The arrays must have NaN where `values` has NaN, so that the middle places are found once. The
    axis remains, with length 1. If all values are NaN, the median is NaN, without a warning.
    """
    count = (~np.isnan(values)).sum(axis=axis, keepdims=True)
    last = values.shape[axis] - 1
    low, high = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, last)

    def median(values: Array) -> Array:
        ordered = np.sort(values, axis=axis)
        ends = (np.take_along_axis(ordered, at, axis=axis) for at in (low, high))
        return np.asarray(sum(ends) / 2)

    return median
