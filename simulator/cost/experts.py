"""Mixtures of experts: how many experts a pass over several tokens has to read."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import integer, integers, probability


def distinct_experts(
    tokens: ArrayLike, *, experts: int, active: int, reuse: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """Returns the expected number of distinct experts of one layer that some token is sent to.

        E · (1 − (1 − k/E)^m')        with m' = 1 + (1 − r)·(m − 1)

    Under uniform routing (r = 0) each of m tokens picks k of E experts independently, and an expert
    is missed by all of them with probability (1 − k/E)^m. Tokens of one text agree more than that:
    with reuse r, each token after the first counts as 1 − r of an independent one; at r = 1 all
    tokens share the first's experts.

    Args:
      tokens: m, tokens of the pass over all sequences, at least 0, shape (...).
      experts: E, at least 1.
      active: k, experts a token is sent to, 1 to E.
      reuse: r in [0, 1]; broadcasts with tokens.

    Raises:
      ValueError: if an argument is out of range or not a number.
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
