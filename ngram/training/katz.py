"""Katz's back-off (1987): Good-Turing discounts, and the shorter context where nothing was seen.

Where Kneser-Ney interpolates, Katz keeps to the counts of the longest context that was seen:

    p(w | h) = d_c c(hw) / c(h)      if c(hw) > 0
               α(h) p(w | h')        else,       h' the context without its first word

    d_r = (r* / r - μ) / (1 - μ)     for r <= k = 5, else 1
    r* = (r + 1) n_{r+1} / n_r,      μ = (k + 1) n_{k+1} / n_1

with n_r the number of n-grams of count r, and α(h) such that the row sums to 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ngram.rows.grams import Grams
from ngram.rows.words import BEGIN, UNKNOWN
from ngram.training.counts import CorpusCounts
from ngram.training.kneser_ney import LOG10_ZERO, Estimate, prune_thresholds

# Katz's k: counts above it are trusted.
MOST_DISCOUNTED = 5
# A context of which less is left over than this is one whose counts nothing discounts.
_NOTHING_LEFT = 1e-9

Floats = NDArray[np.float64]


def good_turing_discounts(counts: NDArray[np.int64]) -> tuple[float, ...] | None:
    """Returns d_1, ..., d_k, or None where they are undefined: the corpus is too thin or regular.

    Args:
      counts: of the n-grams of one order, shape (n,); those of 0 count for nothing.
    """
    n = np.bincount(np.minimum(counts, MOST_DISCOUNTED + 2), minlength=MOST_DISCOUNTED + 3)
    if (n[1 : MOST_DISCOUNTED + 2] == 0).any():
        return None
    mu = (MOST_DISCOUNTED + 1) * n[MOST_DISCOUNTED + 1] / n[1]
    if mu >= 1:
        return None
    discounts = tuple(
        float(((r + 1) * n[r + 1] / (r * n[r]) - mu) / (1 - mu))
        for r in range(1, MOST_DISCOUNTED + 1)
    )
    return discounts if all(0 < discount <= 1 for discount in discounts) else None


def estimate_katz(counts: CorpusCounts, *, prune: Sequence[int] = ()) -> Estimate:
    """Returns the model of a corpus that Katz's back-off makes.

    Where discounts are undefined nothing is discounted, and a context that is left without any mass
    for what it has not seen counts one occurrence more, as in SRILM. The words that were not seen
    at all share what is left at order 1: they are `<unk>`, and to `<s>` nothing is given.

    Args:
      counts: of the corpus; raw ones are used.
      prune: n-grams that occur so often or less are dropped, by order; none by default.

    Raises:
      ValueError: as `prune_thresholds`.
    """
    thresholds = prune_thresholds(prune, len(counts.orders))
    vocabulary = counts.vocabulary
    words = vocabulary[:, None]
    kept_words: list[NDArray[np.int32]] = []
    probabilities: list[Floats] = []
    backoffs: list[Floats] = []
    all_discounts = []
    fallback_orders = []
    keep = np.zeros(0, bool)
    lower = np.zeros(0)
    for order, table in enumerate(counts.orders, start=1):
        discounts = good_turing_discounts(table.raw)
        if discounts is None:
            discounts = (1.0,) * MOST_DISCOUNTED
            fallback_orders.append(order)
        all_discounts.append(discounts)
        kept_below, keep = keep, table.raw > thresholds[order - 1]
        if order == 1:
            keep |= vocabulary < 0
        contexts = max(len(lower), 1)
        share = np.array([0.0, *discounts, 1.0])[np.minimum(table.raw, MOST_DISCOUNTED + 1)]
        total = np.bincount(table.context, weights=table.raw, minlength=contexts)
        seen = np.where(keep, share * table.raw, 0.0)
        left = total - np.bincount(table.context, weights=seen, minlength=contexts)
        total = np.where(left < _NOTHING_LEFT * total, total + 1, total)
        own = seen / total[table.context]
        left = 1 - np.bincount(table.context, weights=own, minlength=contexts)
        if order == 1:
            # Of the words that pruning dropped, `<unk>` takes the place.
            lower = np.where(keep & (vocabulary != UNKNOWN), own, left[0])
            lower[vocabulary == BEGIN] = 1.0
        else:
            shorter = np.where(keep, lower[table.suffix], 0.0)
            unlisted = 1 - np.bincount(table.context, weights=shorter, minlength=contexts)
            # `<unk>` follows nothing, so that something is always unlisted.
            weight = np.maximum(left, 0.0) / unlisted
            backoffs.append(weight[kept_below])
            lower = np.where(keep, own, weight[table.context] * lower[table.suffix])
            words = np.column_stack([words[table.context], vocabulary[table.word]])
        kept_words.append(words[keep])
        probabilities.append(lower[keep])
    grams = [
        Grams(
            of_order,
            np.minimum(_log10(probability), 0.0),
            None if backoff is None else _log10(backoff),
        )
        for of_order, probability, backoff in zip(
            kept_words, probabilities, [*backoffs, None], strict=True
        )
    ]
    return Estimate(tuple(grams), tuple(all_discounts), tuple(fallback_orders))


def _log10(values: Floats) -> Floats:
    """Returns log10 of probabilities or of weights, which may exceed 1; LOG10_ZERO for 0."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log10(values), LOG10_ZERO)
