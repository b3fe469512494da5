"""What each of several things takes on a machine whose speed changes: the changes divided out.

A machine that others share does the same now in 1.1 and now in 2.0 ms, for seconds at a time. Where
all things run in turns, each once a turn,

    log seconds = level of the thing + speed of the turn + noise

and Tukey's median polish tells the first two apart: outliers move neither (Tukey 1977).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

SWEEPS = 20


def levels(seconds: ArrayLike, *, sweeps: int = SWEEPS) -> NDArray[np.float64]:
    """Returns the seconds that each thing takes at the turns' median speed, shape (..., things).

    Args and NaN as `polish`.
    """
    return polish(seconds, sweeps=sweeps)[0]


def polish(
    seconds: ArrayLike, *, sweeps: int = SWEEPS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns what each thing takes at the turns' median speed, and each turn's speed.

    Args:
      seconds: by thing and turn, shape (..., things, turns), above 0; NaN where a turn lacks the
        thing. Tables of the leading axes are polished each on its own.
      sweeps: of medians over turns and things; most of the way is gone in the first few.

    Returns:
      seconds: of each thing, shape (..., things); NaN for one that no turn has.
      speeds: how many times as long things take in each turn as at the median speed, shape
        (..., turns); NaN for one that has no thing.
    """
    left = np.log(np.asarray(seconds, dtype=np.float64))
    things, speeds = np.zeros(()), np.zeros(())
    for _ in range(sweeps):
        found = _median(left, axis=-1)
        left, things = left - found, things + found
        moved = _median(left, axis=-2)
        left, speeds = left - moved, speeds + moved
    middle = _median(speeds, axis=-1)
    return np.exp(things + middle)[..., 0], np.exp(speeds - middle)[..., 0, :]


def _median(values: NDArray[np.float64], *, axis: int) -> NDArray[np.float64]:
    """Returns medians of what is no NaN, the axis kept; NaN of nothing else, without a warning."""
    ordered = np.sort(values, axis=axis)
    count = np.sum(~np.isnan(values), axis=axis, keepdims=True)
    middle = (np.maximum(count - 1, 0) // 2, np.minimum(count // 2, values.shape[axis] - 1))
    low, high = (np.take_along_axis(ordered, at, axis=axis) for at in middle)
    return np.asarray((low + high) / 2)
