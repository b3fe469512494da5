"""Experts that tokens read: how many of a layer, and by the part of them that has most to read."""

import numpy as np
from numpy.typing import ArrayLike

from simulator.numerics.arguments import Floats, integer, integers, probability


def distinct_experts(
    tokens: ArrayLike, *, experts: int, active: int, reuse: ArrayLike = 0.0, popular: bool = False
) -> Floats:
    """Returns the expected number of distinct experts in one layer that receive some token.

        E · (1 − (1 − k/E)^m')        with m' = 1 + (1 − r)·(m − 1)

    Under uniform routing (r = 0) each of m tokens picks k of E experts independently; all tokens
    miss an expert with probability (1 − k/E)^m. Tokens of one text pick similar experts: with reuse
    r, each token after the first counts as 1 − r of an independent token. Where some are `popular`,
    their rates exponentially distributed, tokens read E · k · m' / (E + k · (m' − 1)).

    tokens: m, tokens of all sequences in one pass, at least 0; broadcasts with r, `reuse`.
    experts, active: E, and k from 1 to E.
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
    if popular:
        return np.asarray(total * chosen * independent / (total + chosen * (independent - 1)))[()]
    return np.asarray(-total * np.expm1(independent * np.log1p(-chosen / total)))[()]


def busiest_experts(read: ArrayLike, *, experts: int, ep: int) -> Floats:
    """Returns `ep` times the experts that the part with most of them reads.

    read: D, distinct experts of all E. A part of E / ep experts reads D / ep on average; the most
    of `ep` parts is taken as √(2 · ln ep) standard deviations more (hypergeometric), the leading
    term for the largest of several normal numbers.
    """
    distinct = np.asarray(read, dtype=np.float64)
    if ep == 1:
        return distinct
    mean = distinct / ep
    spread = np.sqrt(mean * (1 - 1 / ep) * np.maximum(1 - distinct / experts, 0.0))
    most = np.minimum(mean + np.sqrt(2 * np.log(ep)) * spread, np.minimum(experts / ep, distinct))
    return np.asarray(ep * np.maximum(most, mean))
