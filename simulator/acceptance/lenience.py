"""Lenience: more acceptance for a bounded change of the output law (Leviathan et al. 2023, A.5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.divergence import checked_laws
from simulator.numerics.arguments import integers, law, probability, same_shape


def lenient_beta(p: ArrayLike, q: ArrayLike, *, lenience: ArrayLike) -> NDArray[np.float64]:
    """Returns the probability that a token drawn from q is accepted under lenience l.

        β(l) = Σ_x min(p(x)/l, q(x))          (Leviathan et al. 2023, A.5)

    q is multiplied by l before it is compared with p; l = 1 is speculative sampling, and at l = 0
    every token is accepted.

    Args:
      p, q: laws over the vocabulary, shape (..., vocabulary); they broadcast.
      lenience: l in [0, 1]; broadcasts with the leading axes.

    Returns:
      shape (...).

    Raises:
      ValueError: if a row is not a law, lenience is out of range, or shapes do not broadcast.
    """
    target, draft, factor = _checked(p, q, lenience)
    return np.asarray(_accepted(target, draft, factor).sum(axis=-1))[()]


def lenient_alpha(p: ArrayLike, q: ArrayLike, *, lenience: ArrayLike) -> NDArray[np.float64]:
    """Returns the acceptance rate α(l), the mean of β(l) over all positions, for each lenience.

    Args:
      p, q: laws at positions of texts, shape (..., vocabulary); they broadcast.
      lenience: l in [0, 1], of any shape.

    Returns:
      the shape of lenience.

    Raises:
      ValueError: if a row is not a law, lenience is out of range, or shapes do not broadcast.
    """
    factors = probability("lenience", lenience)
    alpha = np.empty(factors.shape)
    for index, factor in np.ndenumerate(factors):
        alpha[index] = np.mean(lenient_beta(p, q, lenience=factor))
    return alpha[()]


def lenient_output(p: ArrayLike, q: ArrayLike, *, lenience: ArrayLike) -> NDArray[np.float64]:
    """Returns the law of the emitted token under lenience l.

        min(p/l, q) + (1 - β(l)) · norm(max(0, p - q))

    The paper leaves the law of a replacement open; this keeps Algorithm 1's. Then no token is
    emitted with probability above p(x)/l, as A.5 promises, and the total variation from p is
    β(l) - β, the least that any replacement law allows for the added acceptance. (norm(max(0,
    p - l q)) keeps the promise too, but strays further; p itself breaks it.)

    Args:
      p, q: laws over the vocabulary, shape (..., vocabulary); they broadcast.
      lenience: l in [0, 1]; broadcasts with the leading axes.

    Returns:
      shape (..., vocabulary).

    Raises:
      ValueError: if a row is not a law, lenience is out of range, or shapes do not broadcast.
    """
    target, draft, factor = _checked(p, q, lenience)
    accepted = _accepted(target, draft, factor)
    short = np.maximum(0.0, target - draft)
    missing = short.sum(axis=-1, keepdims=True)
    # Where p equals q nothing is missing, and nothing is rejected.
    share = (1 - accepted.sum(axis=-1, keepdims=True)) / np.where(missing > 0, missing, 1.0)
    return np.asarray(accepted + np.maximum(share, 0.0) * short)


def lenient_argmax_accepts(
    p: ArrayLike, tokens: ArrayLike, *, lenience: ArrayLike
) -> NDArray[np.bool_]:
    """Returns which tokens are accepted at temperature 0 under lenience l.

        p(x) >= l · max_x' p(x')              (Leviathan et al. 2023, A.5, read as it must be meant)

    The paper prints p(x) ≤ l · max(p), which would accept the unlikely tokens and reject the
    likely. l = 1 accepts the argmax alone (and its ties); the mean over positions is α(l).

    Args:
      p: the target's laws before they are made one-hot, shape (..., vocabulary).
      tokens: ids that the draft chose, shape (...).
      lenience: l in [0, 1]; broadcasts with tokens.

    Returns:
      shape (...).

    Raises:
      ValueError: if a row is not a law, a token is no id of it, lenience is out of range, or
        shapes do not broadcast.
    """
    target, ids = law("p", p), integers("tokens", tokens)
    factor = probability("lenience", lenience)
    if ids.shape != target.shape[:-1]:
        raise ValueError(f"tokens must have shape {target.shape[:-1]}, got {ids.shape}")
    same_shape({"tokens": ids, "lenience": factor})
    if ids.size > 0 and ids.max() >= target.shape[-1]:
        raise ValueError(f"tokens must be below {target.shape[-1]}, got {ids.max()}")
    chosen = np.take_along_axis(target, ids[..., np.newaxis], axis=-1)[..., 0]
    return np.asarray(chosen >= factor * target.max(axis=-1))[()]


def _checked(
    p: ArrayLike, q: ArrayLike, lenience: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    target, draft = checked_laws(p, q)
    factor = probability("lenience", lenience)
    positions = np.empty(np.broadcast_shapes(target.shape, draft.shape)[:-1])
    same_shape({"positions of p and q": positions, "lenience": factor})
    return target, draft, factor[..., np.newaxis]


def _accepted(
    p: NDArray[np.float64], q: NDArray[np.float64], lenience: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns min(p/l, q), which at l = 0 is q."""
    scaled = lenience * q
    return np.where(scaled <= p, q, p / np.where(lenience > 0, lenience, 1.0))
