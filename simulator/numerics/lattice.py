"""Quasi-random normal draws, a shifted Korobov lattice and the normal quantile function; ranks."""

from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from simulator.numerics.arguments import Floats

# Usual number of draws N, the number for wide distributions, whose tails hold few draws, and the
# number of which runs choose the likely ones.
DRAWS, WIDE, MANY = 2039, 8191, 32749
# Multiplier a of the lattice by N (L'Ecuyer and Lemieux 2000, Table 1). N is prime and a generates
# all N - 1 residues, so that as many columns differ.
_MULTIPLIERS = {DRAWS: 1487, WIDE: 5130, MANY: 14251}
_SHIFT = 7919
# The last 13 bits of an integer, for the places of up to WIDE numbers.
_PLACES = 2**13 - 1


@cache
def normal_column(column: int, draws: int = DRAWS) -> Floats:
    """Returns N standard normal draws, shape (N,).

        z_i = Φ⁻¹((π(i) + 1/2) / N),   π(i) = (i a^column + shift_column) mod N

    Each column has the same N values in another order, since a^column is invertible modulo N.
    Different columns, up to N - 1, are practically independent of each other.

    column: at least 0. Columns near each other are spread most evenly together.
    draws: N, which is DRAWS, WIDE or MANY.
    """
    step = pow(_MULTIPLIERS[draws], column, draws)
    places = (np.arange(draws) * step + column * column * _SHIFT) % draws
    return normal_quantiles(draws)[places]


@cache
def normal_quantiles(draws: int = DRAWS) -> Floats:
    """Returns Φ⁻¹((i + 1/2) / N) for i = 0 … N - 1, shape (N,): rising, the middle one 0."""
    quantile = NormalDist().inv_cdf
    return np.array([quantile((i + 0.5) / draws) for i in range(draws)])


def normal_draws(first: int, count: int, draws: int = DRAWS) -> Floats:
    """Returns `count` columns of `normal_column` from column `first`, shape (N, count)."""
    columns = [normal_column(first + column, draws) for column in range(count)]
    return np.stack(columns, axis=1) if columns else np.zeros((draws, 0))


def order_of(values: Floats) -> NDArray[np.int64]:
    """Returns the places of up to WIDE draws, shape (..., n), in the order in which they rise.

    `np.argsort` takes twice as long. Draws that differ by less than 2e-12 of their size may change
    places.
    """
    bits = values.view(np.int64)
    # Integers that rise with the values; their last bits are replaced by the places.
    keys = bits >> 63  # -1 for negative values
    keys &= np.iinfo(np.int64).max
    keys ^= bits
    keys &= ~_PLACES
    keys |= np.arange(values.shape[-1])
    keys.sort()
    keys &= _PLACES
    return keys
