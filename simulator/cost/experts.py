"""Mixtures of experts: the number of experts that a pass over several tokens reads."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import integer, integers, probability


def distinct_experts(
    tokens: ArrayLike, *, experts: int, active: int, reuse: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """Returns the expected number of distinct experts in one layer that receive some token.

        E · (1 − (1 − k/E)^m')        with m' = 1 + (1 − r)·(m − 1)

    Under uniform routing (r = 0) each of m tokens picks k of E experts independently; all tokens
    miss an expert with probability (1 − k/E)^m. Tokens of one text pick similar experts: with reuse
    r, each token after the first counts as 1 − r of an independent token.

    Args:
      tokens: m, tokens of the pass over all sequences, at least 0, shape (...).
      experts: E, at least 1.
      active: k, experts per token, 1 to E.
      reuse: r in [0, 1]; broadcasts with tokens.

    Raises ValueError if an argument is out of range or not a number.
    """
    count = integers("tokens", tokens).astype(np.float64)
    total = integer("experts", experts, at_least=1)
    chosen = integer("active", active, at_least=1)
    if chosen > total:
        raise ValueError(f"active must be at most the {total} experts, got {chosen}")
    shared = probability("reuse", reuse)
    independent = np.where(count > 0, 1 + (1 - shared) * (count - 1), 0.0)
    if chosen == total:
        return np.asarray(np.where(count > 0, float(total), 0.0))[()]
    return np.asarray(-total * np.expm1(independent * np.log1p(-chosen / total)))[()]
