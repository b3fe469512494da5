"""Latencies of kernels as they are stored, and between the sizes that were measured."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Logarithms of nanoseconds are stored in steps of this.
_STEP = 0.002


def coded(seconds: ArrayLike) -> NDArray[np.int16]:
    """Returns latencies as steps of their logarithms, each less the one before in its curve."""
    steps = np.rint(np.log(np.asarray(seconds) * 1e9) / _STEP)
    return np.diff(steps, prepend=0.0).astype(np.int16)


def decoded(steps: NDArray[np.int16]) -> NDArray[np.float64]:
    """Returns the latencies in seconds of `coded`."""
    return np.asarray(np.exp(steps.cumsum(axis=-1, dtype=float) * _STEP) / 1e9)


@dataclass(frozen=True, eq=False)
class Curves:
    """A table of latencies: one curve over numbers of rows for each measured shape.

    shapes: position of each shape's curve by its sides.
    rows: increasing numbers of rows. seconds: latencies by shape and rows.
    """

    shapes: Mapping[tuple[int, ...], int]
    rows: Sequence[float]
    seconds: NDArray[np.float64]

    def at(self, shape: tuple[int, ...], rows: float) -> float:
        """Returns a measured shape's latency; beyond the last rows it grows in proportion."""
        # In Python's floats: for single numbers NumPy takes three times as long.
        curve, above = self._curve(shape), bisect_right(self.rows, rows)
        if above == 0:
            return curve[0]
        if above == len(curve):
            return curve[-1] * max(rows / self.rows[-1], 1.0)
        low, high = self.rows[above - 1], self.rows[above]
        return (curve[above] - curve[above - 1]) / (high - low) * (rows - low) + curve[above - 1]

    @cached_property
    def _curve(self) -> Callable[[tuple[int, ...]], list[float]]:
        return cache(lambda shape: self.seconds[self.shapes[shape]].tolist())


def on_grid(
    axes: Sequence[Sequence[int]], seconds: NDArray[np.float64], point: Sequence[int]
) -> float:
    """Returns the latency at a point of a grid, linear on each axis, and in proportion beyond."""
    beyond, sides, shares = 1.0, [], []
    for axis, value in zip(axes, point, strict=True):
        inside = min(max(value, axis[0]), axis[-1])
        beyond *= value / inside
        above = max(bisect_left(axis, inside), 1) if len(axis) > 1 else 0
        below = max(above - 1, 0)
        shares.append((inside - axis[below]) / (axis[above] - axis[below]) if above else 0.0)
        sides.append((below, above))
    corners = [seconds.item(corner) for corner in product(*sides)]
    for share in shares:
        half = len(corners) // 2
        pairs = zip(corners[:half], corners[half:], strict=True)
        corners = [low * (1 - share) + high * share for low, high in pairs]
    return corners[0] * beyond
