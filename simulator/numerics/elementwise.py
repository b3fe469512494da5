"""Formulas over large arrays in pieces that stay in the processor's cache, and roots of many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.arguments import same_shape

_PIECE = 1 << 14


def elementwise(
    formula: Callable[..., NDArray[np.float64]],
    arguments: Mapping[str, NDArray[Any]],
    *,
    dtype: type[np.generic] = np.float64,
) -> NDArray[Any]:
    """Returns formula(*arguments) over the arrays broadcast together.

    The formula sees one-dimensional float64 pieces, so its temporaries stay small and in cache
    however large the arrays are; nothing is broadcast or converted as a whole.

    Args:
      formula: takes one piece of each argument, in order, and returns as many results.
      arguments: by the names that an error message shows.

    Raises:
      ValueError: if the shapes do not broadcast.
    """
    same_shape(arguments)
    access: list[list[Literal["readonly", "writeonly", "allocate"]]]
    access = [["readonly"] for _ in arguments]
    access.append(["writeonly", "allocate"])
    pieces = np.nditer(
        [*arguments.values(), None],
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=access,
        op_dtypes=[*(np.float64 for _ in arguments), dtype],
        casting="same_kind",
        buffersize=_PIECE,
    )
    with pieces:
        for *inputs, output in pieces:
            output[...] = formula(*inputs)
        result: NDArray[Any] = pieces.operands[-1][()]
        return result


# Each step halves the bracket: this many leave less than float64 resolves of a bracket within
# [0, 1] whose root is not tiny.
_STEPS = 64


def bisect(
    increasing: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Returns, for each bracket, where the increasing function passes 0.

    Args:
      increasing: maps an array of that shape to one of that shape.
      low, high: ends of the brackets, of one shape. A function without a sign change in its bracket
        gives the end that is nearer to one.
    """
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        below = increasing(middle) < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)
