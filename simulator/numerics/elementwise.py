"""Elementwise evaluation of functions of one γ."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from simulator.numerics.arguments import Floats, integers


def by_gamma(gamma: ArrayLike, seconds: Callable[[int], float]) -> Floats:
    """Returns `seconds(γ)` for each γ, in the shape of `gamma`."""
    lengths = integers("gamma", gamma)
    every = lengths.ravel().tolist()  # Python's own integers
    values = {length: seconds(length) for length in dict.fromkeys(every)}
    return np.array([values[length] for length in every], np.float64).reshape(lengths.shape)[()]
