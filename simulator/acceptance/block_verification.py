"""Block verification: how much of a draft is accepted when it is judged as a whole.

Sun et al. 2024 ("Block verification accelerates speculative decoding"), Algorithm 2. After i
drafted tokens X the share of the target that is left is

    s_0 = 1,    s_i = min(1, s_{i-1} p_i(X_i) / q_i(X_i)),

and at least i of the drafted tokens are accepted with probability s_i. Token by token, the
probability is the product of min(1, p/q), which is never larger.

So a recorded text x shows how often its tokens are accepted, with no assumption: x_1, …, x_i are
drafted and accepted with probability q(x_1…x_i) s_i, and the target emits them with probability
p(x_1…x_i). Hence, given the text, at least i are accepted with probability

    w_i = q(x_1…x_i) s_i / p(x_1…x_i) = min(1, min over j <= i of Π_{k<=j} q_k(x_k) / p_k(x_k)):

the running minimum of the likelihood ratio, where accepting one by one has the product of
min(1, q/p). And w_{i+1} / w_i takes the place of an acceptance in replay.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import integer, non_negative


def block_acceptance(ratio: ArrayLike, max_gamma: int) -> NDArray[np.float64]:
    """Returns the probability that each token of the text is accepted once its block's earlier are.

    Args:
      ratio: q(x)/p(x) of the text's tokens, at least 0: shape (N,) where the draft's law depends
        only on the text before; shape (N, K) where it depends on the block, entry (t, k) being
        for position t + k of the block that begins at t. For a one-hot q, it may be cut to 1.
      max_gamma: the longest draft of interest, at least 1; at most K.

    Returns:
      shape (N, max_gamma), entry (t, k) for position t + k of the block that begins at t: what
      replay (`simulator.acceptance.replay`) takes. 0 beyond the text.
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
