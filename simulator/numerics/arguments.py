"""Checks of public functions' arguments; an error gives the name, the rule and the value."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
_Number = TypeVar("_Number", np.int64, np.float64)

# Integers up to here are exact in float64.
_LARGEST_INTEGER = 2**53

# Rows of a softmax computed in float32 sum to 1 within a few 1e-6.
_SUM_TOLERANCE = 1e-5


def probability(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Returns the value as an array; raises ValueError unless it lies in [0, 1]."""
    return _within(name, _floats(name, value), 0.0, 1.0, "lie in [0, 1]")


def non_negative(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Returns the value as an array; raises ValueError unless it is finite and at least 0."""
    largest = float(np.finfo(np.float64).max)
    return _within(name, _floats(name, value), 0.0, largest, "be finite and at least 0")


def integers(name: str, value: ArrayLike, *, at_least: int = 0) -> NDArray[np.int64]:
    """Returns the value as an array of integers; whole floats count as integers.

    Raises ValueError if an element is not whole, or below `at_least`.
    """
    if type(value) is int and at_least <= value <= _LARGEST_INTEGER:
        return np.array(value)  # The usual case, thousands of times.
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        array = _floats(name, value)
        whole = np.isfinite(array) & (array == np.rint(array))
        if not whole.all():
            raise ValueError(f"{name} must be an integer, got {array[~whole].flat[0]}")
    array = _within(name, array, at_least, np.inf, f"be at least {at_least}")
    array = _within(name, array, at_least, _LARGEST_INTEGER, f"be at most {_LARGEST_INTEGER}")
    return array.astype(np.int64, copy=False)


def integer(name: str, value: ArrayLike, *, at_least: int = 0) -> int:
    """Returns the value as one integer.

    Raises ValueError if it is an array, not whole, or below `at_least`.
    """
    if type(value) is int and at_least <= value <= _LARGEST_INTEGER:
        return value  # Without an array.
    array = integers(name, value, at_least=at_least)
    if array.ndim > 0:
        raise ValueError(f"{name} must be a single integer, got shape {array.shape}")
    return int(array)


def law(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Returns the value as an array whose last axis is a probability distribution.

    Raises ValueError if a probability is out of range or a distribution does not sum to 1.
    """
    rows = probability(name, value)
    if rows.ndim == 0:
        raise ValueError(f"{name} must hold one probability for each token, got a single number")
    sums = rows.sum(axis=-1)
    wrong = np.abs(sums - 1) > _SUM_TOLERANCE
    if wrong.any():
        total = sums[wrong].flat[0]
        side = "too much" if total > 1 else "too little"
        raise ValueError(
            f"{name} must sum to 1 over its last axis, got {total:.6g}: {abs(total - 1):.2g} {side}"
        )
    return rows


def floats(arrays: Mapping[str, NDArray[Any]]) -> list[NDArray[np.float64]]:
    """Returns the arrays as float64, in order; raises ValueError unless their shapes broadcast."""
    shapes = [array.shape for array in arrays.values()]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"{' and '.join(arrays)} must have shapes that broadcast together, "
            f"got {' and '.join(map(str, shapes))}"
        ) from None
    return [array.astype(np.float64, copy=False) for array in arrays.values()]


def _floats(name: str, value: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or an array of them, got {value!r}") from None


def _within(
    name: str, array: NDArray[_Number], low: float, high: float, rule: str
) -> NDArray[_Number]:
    # Two reductions and no temporary in the good case; NaN fails both comparisons.
    if array.size > 0 and not (array.min() >= low and array.max() <= high):
        inside = (array >= low) & (array <= high)
        raise ValueError(f"{name} must {rule}, got {array[~inside].flat[0]}")
    return array
