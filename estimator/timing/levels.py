"""Separates the durations of several things from the changing speed of the machine.

A shared machine may need 1.1 ms and then 2.0 ms for one piece of work, for seconds at a time. If
all things run in turns, each once per turn,

    log seconds = level of the thing + speed of the turn + noise

and Tukey's median polish separates levels from speeds, robustly against outliers (Tukey 1977).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

SWEEPS = 20


def levels(seconds: ArrayLike, *, sweeps: int = SWEEPS) -> NDArray[np.float64]:
    """Returns the first result of `polish`: each thing's seconds, shape (..., things)."""
    return polish(seconds, sweeps=sweeps)[0]


def polish(
    seconds: ArrayLike, *, sweeps: int = SWEEPS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the seconds of each thing at the turns' median speed, and each turn's speed.

    Args:
      seconds: by thing and turn, shape (..., things, turns), above 0; NaN if a turn lacks the
        thing. Tables along the leading axes are polished separately.
      sweeps: number of alternations between turns and things; the first few do most of the work.

    Returns:
      seconds: seconds of each thing, shape (..., things); NaN for a thing that no turn has.
      speeds: duration in each turn relative to the median speed, shape (..., turns); NaN for a turn
        without things.
    """
    left = np.log(np.asarray(seconds, dtype=np.float64))
    # Subtracting medians keeps NaN in place, so the middles of rows stay the same.
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
    """Positions, in sorted rows, of the two values whose mean is the median, ignoring NaN.

    low, high: along the axis, which is kept; None: the middle of all rows, without NaN.
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
        """Returns medians with the axis kept; NaN for rows of NaN, without a warning."""
        ordered = np.sort(values, axis=self.axis)
        if self.low is None or self.high is None:
            count = values.shape[self.axis]
            low, high = (ordered.take([at], self.axis) for at in ((count - 1) // 2, count // 2))
        else:
            low, high = (
                np.take_along_axis(ordered, at, axis=self.axis) for at in (self.low, self.high)
            )
        return np.asarray((low + high) / 2)
