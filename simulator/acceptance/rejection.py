"""The alternative to speculative sampling that Leviathan et al. 2023 weigh in A.2."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.divergence import checked_laws


def rejection_beta(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """Returns the acceptance probability of rejection sampling that, once rejected, draws from p.

        Σ_x p(x) min_x' q(x')/p(x') = 1/M,   M = max_x p(x)/q(x)    (Leviathan et al. 2023, A.2)

    A token of q is accepted with probability p(x) / (M q(x)). The output law is p, as with
    speculative sampling, but the acceptance is at most Σ_x min(p(x), q(x)), and 0 as soon as q
    misses one token of p.

    Args:
      p, q: laws over the vocabulary, shape (..., vocabulary); they broadcast.

    Returns:
      shape (...).

    Raises:
      ValueError: if a row is not a law (by how much it misses 1), or shapes do not broadcast.
    """
    target, draft = checked_laws(p, q)
    possible = target > 0
    with np.errstate(over="ignore"):  # another token decides where q/p is beyond all numbers
        ratio = draft / np.where(possible, target, 1.0)
    return np.asarray(np.where(possible, ratio, np.inf).min(axis=-1))[()]
