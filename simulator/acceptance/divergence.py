"""Acceptance rates computed from the distributions p and q: Leviathan et al. 2023, §3.2."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import integer, law, non_negative, same_shape


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


def block_acceptance(ratio: ArrayLike, max_gamma: int) -> NDArray[np.float64]:
    """Returns each token's acceptance probability if its block's earlier tokens are accepted.

    Args:
      ratio: q(x)/p(x) of the text's tokens, at least 0. Shape (N,) if the draft's distribution
        depends only on the text before; shape (N, K) if it depends on the block, entry (t, k) for
        position t + k of the block that begins at t. A one-hot q may be cut to 1.
      max_gamma: the longest draft, at least 1 and at most K.

    Returns:
      shape (N, max_gamma), entry (t, k) for position t + k of the block that begins at t, 0 after
      the text's end: an input of `simulator.acceptance.replay`.
    """
    given = non_negative("ratio", ratio)
    length = integer("max_gamma", max_gamma, at_least=1)
    if given.ndim == 1:
        padded = np.concatenate([given, np.zeros(length)])
        given = padded[np.arange(len(given))[:, None] + np.arange(length)]
    elif given.ndim != 2 or given.shape[1] < length:
        raise ValueError(f"ratio must have shape (N,) or (N, {length} or more), got {given.shape}")
    with np.errstate(divide="ignore"):
        steps = np.log(given[:, :length])
    stands = np.minimum.accumulate(np.minimum(np.cumsum(steps, axis=1), 0.0), axis=1)
    before = np.concatenate([np.zeros((len(stands), 1)), stands[:, :-1]], axis=1)
    with np.errstate(invalid="ignore"):
        # Where nothing stood before, -inf - -inf.
        return np.asarray(np.nan_to_num(np.exp(stands - before), nan=0.0))
