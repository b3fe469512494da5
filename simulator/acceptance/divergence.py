"""Acceptance rates computed from the distributions p of the target and q of the draft."""

import numpy as np
from numpy.typing import ArrayLike

from simulator.numerics.arguments import Floats, integer, law, non_negative, same_shape


def beta_of_laws(p: ArrayLike, q: ArrayLike) -> Floats:
    """Returns the probability β that a token drawn from q is accepted by a target p.

        β = Σ_x min(p(x), q(x))               (Leviathan et al. 2023, Theorem 5)

    p, q: distributions over the vocabulary, shape (..., vocabulary); they broadcast.
    """
    target, draft = checked_laws(p, q)
    return np.asarray(np.minimum(target, draft).sum(axis=-1))[()]


def alpha_of_laws(p: ArrayLike, q: ArrayLike) -> Floats:
    """Returns the acceptance rate: the mean of β over all positions.

        α = E[Σ_x min(p(x), q(x))]            (Leviathan et al. 2023, Corollary 6)

    p, q: see `beta_of_laws`; the positions must come from texts that the target generated.
    """
    return np.asarray(np.mean(beta_of_laws(p, q)))[()]


def checked_laws(p: ArrayLike, q: ArrayLike) -> tuple[Floats, Floats]:
    target, draft = law("p", p), law("q", q)
    same_shape({"p": target, "q": draft})
    return target, draft


def block_acceptance(ratio: ArrayLike, max_gamma: int) -> Floats:
    """Returns each token's acceptance probability if its block's earlier tokens are accepted.

    Block verification (Sun et al. 2024, "Block verification accelerates speculative decoding",
    Algorithm 2) verifies a draft X as a whole: at least i drafted tokens are accepted with
    probability s_i. Token-by-token verification has the product of min(1, p/q), never larger.

        s_0 = 1,    s_i = min(1, s_{i-1} p_i(X_i) / q_i(X_i))

    A recorded text x shows its acceptance without any assumption. The draft proposes x_1, …, x_i
    and has them accepted with probability q(x_1…x_i) s_i; the target emits them with probability
    p(x_1…x_i). Given the text, at least i tokens are therefore accepted with probability

        w_i = q(x_1…x_i) s_i / p(x_1…x_i) = min(1, min over j <= i of Π_{k<=j} q_k(x_k) / p_k(x_k)),

    the running minimum of the likelihood ratio. The result is w_{i+1} / w_i.

    ratio: q(x)/p(x) of the text's tokens, at least 0, shape (N,) or (N, K) as for `acceptance` in
      `simulator.acceptance.replay.Replay`. For a one-hot q, ratios above 1 may be given as 1.
    max_gamma: the longest draft, at least 1 and at most K.

    Returns shape (N, max_gamma), the `acceptance` that a `Replay` takes. Entry (t, k) is for
    position t + k of the block that begins at t; entries after the text's end are 0.
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
