"""Quasi-random normal draws: a shifted Korobov lattice and the normal quantile function."""

from functools import cache
from statistics import NormalDist

import numpy as np

from simulator.numerics.arguments import Floats

# Number of draws N and multiplier a of the lattice (L'Ecuyer and Lemieux 2000, Table 1). N is prime
# and a generates all N - 1 residues, so that as many columns differ.
DRAWS, _MULTIPLIER = 2039, 1487
_SHIFT = 7919


@cache
def normal_column(column: int) -> Floats:
    """Returns DRAWS standard normal draws, shape (DRAWS,).

        z_i = Φ⁻¹((π(i) + 1/2) / N),   π(i) = (i a^column + shift_column) mod N

    Each column has the same N values in another order, since a^column is invertible modulo N.
    Different columns, up to N - 1, are practically independent of each other.

    column: at least 0. Columns near each other are spread most evenly together.
    """
    step = pow(_MULTIPLIER, column, DRAWS)
    places = (np.arange(DRAWS) * step + column * column * _SHIFT) % DRAWS
    return normal_quantiles()[places]


@cache
def normal_quantiles() -> Floats:
    """Returns Φ⁻¹((i + 1/2) / N) for i = 0 … N - 1, shape (DRAWS,): rising, the middle one 0."""
    quantile = NormalDist().inv_cdf
    return np.array([quantile((i + 0.5) / DRAWS) for i in range(DRAWS)])


def normal_draws(first: int, count: int) -> Floats:
    """Returns `count` columns of `normal_column` from column `first`, shape (DRAWS, count)."""
    columns = [normal_column(first + each) for each in range(count)]
    return np.stack(columns, axis=1) if columns else np.zeros((DRAWS, 0))
