"""Separates the durations of several things from the changing speed of the machine.

If all things run in turns, each once per turn,

    log seconds = level of the thing + speed of the turn + noise

and Tukey's median polish separates levels from speeds, robustly against outliers (Tukey 1977).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

SWEEPS = 20

Array = NDArray[np.float64]


def polish(seconds: ArrayLike, *, sweeps: int = SWEEPS) -> tuple[Array, Array]:
    """Returns each thing's seconds at the turns' median speed, and each turn's slowness.

    Their shapes are (..., things) and (..., turns). They are NaN for a thing that was never timed,
    and for a turn in which nothing was timed. Slowness is relative to the median speed.

    seconds: seconds by thing and turn, shape (..., things, turns), above 0; NaN if a thing was not
      timed in a turn. Tables along the leading axes are polished separately.
    sweeps: number of alternations between turns and things; the first few do most of the work.
    """
    left = np.log(np.asarray(seconds, dtype=np.float64))
    # Subtracting medians keeps NaN in place, so the middles of rows stay the same.
    rows, columns = _middles(left, -1), _middles(left, -2)
    things, speeds = np.zeros(()), np.zeros(())
    for _ in range(sweeps):
        found = _median(left, -1, rows)
        left, things = left - found, things + found
        moved = _median(left, -2, columns)
        left, speeds = left - moved, speeds + moved
    middle = _median(speeds, -1, _middles(speeds, -1))
    return np.exp(things + middle)[..., 0], np.exp(speeds - middle)[..., 0, :]


def _middles(values: Array, axis: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the lower and the upper middle place along a sorted axis, where NaN comes last."""
    count = (~np.isnan(values)).sum(axis=axis, keepdims=True)
    return np.maximum(count - 1, 0) // 2, count // 2


def _median(values: Array, axis: int, middles: tuple[NDArray[np.int64], ...]) -> Array:
    ordered = np.sort(values, axis=axis)
    low, high = (np.take_along_axis(ordered, places, axis=axis) for places in middles)
    return np.asarray((low + high) / 2)
