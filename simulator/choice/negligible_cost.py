"""Drafters that cost next to nothing: Leviathan et al. 2023, §3.6.

With c = 0 the factor is Eq. 1 itself, `tokens.expected_tokens`, and whatever the γ it stays below
`tokens.unbounded_tokens`, 1/(1 - α). Here is the drafter of the section's last example.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import expected_tokens
from simulator.numerics.arguments import integers, law


def random_drafter_beta(p: ArrayLike) -> NDArray[np.float64]:
    """Returns the acceptance probability of a token drawn uniformly from the vocabulary.

        β = Σ_x min(p(x), 1/V) ≥ 1/V          (Leviathan et al. 2023, Theorem 5 and §3.6)

    Equal to 1/V where p is one-hot, as at temperature 0, and to 1 where p is uniform.

    Args:
      p: the target's laws, shape (..., V).

    Returns:
      shape (...).

    Raises:
      ValueError: if a row is not a law (by how much it misses 1).
    """
    target = law("p", p)
    return np.asarray(np.minimum(target, 1 / target.shape[-1]).sum(axis=-1))[()]


def random_drafter_guarantee(vocabulary: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
    """Returns the factor that random tokens guarantee for any target, their cost neglected.

        (1 - V^-(γ+1)) / (1 - 1/V)            (Leviathan et al. 2023, Eq. 1 at α = 1/V; §3.6)

    Args:
      vocabulary: V, at least 1, shape (...).
      gamma: drafted tokens per block, at least 0; broadcasts with vocabulary.

    Raises:
      ValueError: if an argument is out of range or not an integer.
    """
    return expected_tokens(1 / integers("vocabulary", vocabulary, at_least=1), gamma)
