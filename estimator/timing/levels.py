"""What each of several things takes on a machine whose speed changes: the changes divided out.

A machine that others share does the same now in 1.1 and now in 2.0 ms, for seconds at a time. Where
all things run in turns, each once a turn,

    log seconds = level of the thing + speed of the turn + noise

and Tukey's median polish tells the first two apart: outliers move neither (Tukey 1977).
"""

from __future__ import annotations

from dataclasses import dataclass

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
    # Taking medians away leaves NaN where it is: the middles of rows stay the same.
    along, across = _Middle.of(left, axis=-1), _Middle.of(left, axis=-2)
    things, speeds = np.zeros(()), np.zeros(())
    for _ in range(sweeps):
        found = along.median(left)
        left, things = left - found, things + found
        moved = across.median(left)
        left, speeds = left - moved, speeds + moved
    middle = _Middle.of(speeds, axis=-1).median(speeds)
    return np.exp(things + middle)[..., 0], np.exp(speeds - middle)[..., 0, :]


@dataclass(frozen=True, slots=True)
class _Middle:
    """Where in sorted rows the two values lie whose mean is the median of what is no NaN.

    low, high: along the axis, which they keep; None: in the middle of all rows, which have no NaN.
    """

    axis: int
    low: NDArray[np.int64] | None = None
    high: NDArray[np.int64] | None = None

    @staticmethod
    def of(values: NDArray[np.float64], *, axis: int) -> _Middle:
        known = ~np.isnan(values)
        if known.all():
            return _Middle(axis)
        count = known.sum(axis=axis, keepdims=True)
        last = values.shape[axis] - 1
        return _Middle(axis, np.maximum(count - 1, 0) // 2, np.minimum(count // 2, last))

    def median(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns medians, the axis kept; NaN of nothing else, without a warning."""
        ordered = np.sort(values, axis=self.axis)
        if self.low is None or self.high is None:
            count = values.shape[self.axis]
            low, high = (ordered.take([at], self.axis) for at in ((count - 1) // 2, count // 2))
        else:
            low, high = (
                np.take_along_axis(ordered, at, axis=self.axis) for at in (self.low, self.high)
            )
        return np.asarray((low + high) / 2)
