"""Acceptance rates from distributions, tokens per call by Eq. 1, and α from servers' numbers.

Most servers call accepted over drafted tokens the acceptance rate. That number falls with γ and is
not α. An α inferred from counts equals E[β] only if the β of all positions are independent and
identically distributed (Leviathan et al. 2023, §3.1).
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from simulator.numerics.arguments import (
    Floats,
    floats,
    integer,
    integers,
    law,
    non_negative,
    probability,
)

# Replaces log(0): far below any logarithm that matters, yet finite, so that 0 times it is 0.
_LOG_ZERO = -1e308
# Newton's steps, of which five are enough for most fractions.
_STEPS = 64
# A step that changes α by less than this share of it is the last.
_ROUNDING = 4e-16


def expected_tokens(alpha: ArrayLike, gamma: ArrayLike) -> Floats:
    """Returns the mean number of tokens that one target call yields.

        E[τ] = (1 - α^(γ+1)) / (1 - α)        (Leviathan et al. 2023, Eq. 1)

    alpha: acceptance rate in [0, 1]; gamma: drafted tokens per block, at least 0. They broadcast.
    """
    arguments = {"alpha": probability("alpha", alpha), "gamma": integers("gamma", gamma)}
    return (1 + accepted_tokens(*floats(arguments)))[()]


def accepted_tokens(alpha: Floats, gamma: Floats) -> Floats:
    """Returns the mean accepted tokens per call, α (1 - α^γ) / (1 - α), without range checks.

    1 - α^γ is computed by expm1, because the difference itself would lose all digits near α = 1.
    """
    with np.errstate(divide="ignore", over="ignore"):
        exponent = gamma * np.maximum(np.log(alpha), _LOG_ZERO)
    rest = 1 - alpha
    certain = rest == 0
    return np.where(certain, gamma, -alpha * np.expm1(exponent) / np.where(certain, 1.0, rest))


def accepted_fraction(alpha: Floats, gamma: Floats) -> Floats:
    """Returns accepted over drafted tokens, (α + … + α^γ) / γ, without range checks."""
    return accepted_tokens(alpha, gamma) / gamma


def alpha_from_accepted_fraction(fraction: ArrayLike, gamma: ArrayLike) -> Floats:
    """Returns the α at which accepted_fraction(α, γ) equals the given fraction.

    fraction: in [0, 1]; gamma: drafted tokens per block, at least 1. They broadcast.
    """
    arguments = {
        "accepted_fraction": probability("accepted_fraction", fraction),
        "gamma": integers("gamma", gamma, at_least=1),
    }
    rate, length = np.broadcast_arrays(*floats(arguments))
    tokens = rate * length
    # The mean of α, …, α^γ is at most α and, i ↦ α^i being convex, at least α^((γ+1)/2). Their sum
    # is at most α / (1 - α).
    least, most = np.maximum(rate, tokens / (1 + tokens)), rate ** (2 / (length + 1))
    alpha = least
    for _ in range(_STEPS):  # Newton's method
        before, sums = alpha, accepted_tokens(alpha, length)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (1 + sums - (length + 1) * alpha**length) / (1 - alpha)
        slope = np.where(alpha == 1, length * (length + 1) / 2, slope)
        alpha = np.clip(alpha - (sums - tokens) / slope, least, most)
        if (np.abs(alpha - before) <= _ROUNDING * alpha).all():
            break
    return np.asarray(alpha)[()]


def alpha_from_block_efficiency(block_efficiency: ArrayLike, gamma: ArrayLike) -> Floats:
    """Returns the α at which expected_tokens(α, γ) equals the given block efficiency.

    block_efficiency: emitted tokens per target call, in [1, γ + 1]; broadcasts with gamma.
    """
    arguments = {
        "block_efficiency": non_negative("block_efficiency", block_efficiency),
        "gamma": integers("gamma", gamma, at_least=1),
    }
    efficiency, length = np.broadcast_arrays(*floats(arguments))
    impossible = (efficiency < 1) | (efficiency > length + 1)
    if impossible.any():
        most, given = length[impossible].flat[0] + 1, efficiency[impossible].flat[0]
        raise ValueError(f"block_efficiency must lie in [1, gamma + 1 = {most:g}], got {given}")
    return alpha_from_accepted_fraction((efficiency - 1) / length, length)


def interpolated_alpha(alpha_by_lenience: Mapping[float, float], *, lenience: float) -> float:
    """Returns α(l) at a lenience l between the leniences at which it was measured.

        α(l) = E[Σ min(p/l, q)]               (Leviathan et al. 2023, A.5)

    The interpolation is linear in 1/l. α(l) is concave in 1/l, so the result is never too high.

    alpha_by_lenience: measured α(l) by l, at least one.
    """
    if not alpha_by_lenience:
        raise ValueError("alpha_by_lenience must have at least one lenience, got none")
    least, most = min(alpha_by_lenience), max(alpha_by_lenience)
    if not least <= lenience <= most:
        raise ValueError(
            f"lenience must lie in [{least:g}, {most:g}], where alpha was measured, got {lenience}"
        )
    measured = sorted(alpha_by_lenience, reverse=True)
    inverse = 1 / np.array(measured)
    return float(np.interp(1 / lenience, inverse, [alpha_by_lenience[value] for value in measured]))


def beta_of_laws(p: ArrayLike, q: ArrayLike) -> Floats:
    """Returns the probability β that a token drawn from q is accepted by a target p.

        β = Σ_x min(p(x), q(x))               (Leviathan et al. 2023, Theorem 5)

    The acceptance rate α is the mean of β over the positions of texts that the target generated
    (Corollary 6).

    p, q: distributions over the vocabulary, shape (..., vocabulary); they broadcast.
    """
    target, draft = floats({"p": law("p", p), "q": law("q", q)})
    return np.asarray(np.minimum(target, draft).sum(axis=-1))[()]


def block_acceptance(ratio: ArrayLike, max_gamma: int) -> Floats:
    """Returns each token's acceptance probability if its block's earlier tokens are accepted.

    Block verification (Sun et al. 2024, "Block verification accelerates speculative decoding",
    Algorithm 2) verifies a draft X as a whole: at least i drafted tokens are accepted with
    probability s_i. Token-by-token verification has the product of min(1, p/q), never larger.

        s_0 = 1,    s_i = min(1, s_{i-1} p_i(X_i) / q_i(X_i))

    With probability q(x_1…x_i) s_i, the draft proposes the tokens x_1, …, x_i of a recorded text
    and they are accepted. The target emits them with probability p(x_1…x_i). So, given the text, at
    least i tokens are accepted with probability

        w_i = q(x_1…x_i) s_i / p(x_1…x_i) = min(1, min over j <= i of Π_{k<=j} q_k(x_k) / p_k(x_k)),

    the running minimum of the likelihood ratio. The result is w_{i+1} / w_i.

    ratio: q(x)/p(x) of the text's tokens, at least 0, shape (N,) or (N, K) as for `acceptance` in
      `simulator.acceptance.replay.Replay`. For a one-hot q, ratios above 1 may be given as 1.
    max_gamma: the longest draft, at least 1, and at most K if `ratio` has shape (N, K).

    Returns shape (N, max_gamma), the `acceptance` of a `Replay`; 0 after the text's end.
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
