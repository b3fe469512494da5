"""Acceptance rates computed from the distributions p and q: Leviathan et al. 2023, §3.2."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import law, same_shape


def beta_of_laws(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """Returns the probability β that a token drawn from q is accepted by a target p.

        β = Σ_x min(p(x), q(x))               (Leviathan et al. 2023, Theorem 5)

    p, q: distributions over the vocabulary, shape (..., vocabulary); they broadcast.
    """
    target, draft = checked_laws(p, q)
    return np.asarray(np.minimum(target, draft).sum(axis=-1))[()]


def alpha_of_laws(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """Returns the acceptance rate: the mean of β over all positions.

        α = E[Σ_x min(p(x), q(x))]            (Leviathan et al. 2023, Corollary 6)

    p, q: distributions over the vocabulary at positions of texts drawn from the target, shape (...,
      vocabulary); they broadcast.
    """
    return np.asarray(np.mean(beta_of_laws(p, q)))[()]


def checked_laws(p: ArrayLike, q: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    target, draft = law("p", p), law("q", q)
    same_shape({"p": target, "q": draft})
    return target, draft
