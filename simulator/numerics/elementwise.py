"""Elementwise evaluation of functions of one γ."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from simulator.numerics.arguments import Floats, integers


def by_gamma(gamma: ArrayLike, seconds: Callable[[int], float]) -> Floats:
    """Returns `seconds(γ)` for each γ, in the shape of `gamma`."""
    lengths = integers("gamma", gamma).astype(object)  # Python's own integers
    return np.asarray(np.vectorize(seconds, otypes=[np.float64])(lengths))[()]
