"""Estimates models from counts: modified Kneser-Ney smoothing, and Katz's back-off.

Smoothing goes from low to high orders. An n-gram's probability combines its share of its context's
count with the probability of its last word after the shorter context. Each context has a weight for
words that never followed it.

Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999), like KenLM's `lmplz`:

    p(w | h) = (a(hw) - D(a(hw))) / a(h) + γ(h) p(w | h'),
    γ(h) = (Σ_w D(a(hw)) + what pruning removed) / a(h),   a(h) = Σ_w a(hw)

where a is the adjusted count and h' the context without its first word. The order below the first
is uniform over all words except `<s>`, which gets 0.

Katz's back-off (1987) uses only the longest context with a count:

    p(w | h) = d_c c(hw) / c(h)      if c(hw) > 0
               α(h) p(w | h')        else

    d_r = (r* / r - μ) / (1 - μ)     for r <= k = 5, else 1
    r* = (r + 1) n_{r+1} / n_r,      μ = (k + 1) n_{k+1} / n_1

where n_r is the number of n-grams with count r, and α(h) makes the row sum to 1.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ngram.rows.backoff import BEGIN, UNKNOWN, Grams
from ngram.training.counts import CorpusCounts, NgramCounts

# In place of log10(0), as in SRILM's files: KenLM refuses infinite weights.
LOG10_ZERO = -99.0

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Words = NDArray[np.int32]
Discounts = tuple[float, ...]

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)


def closed_form_discounts(tallied: NDArray[np.int64]) -> tuple[float, float, float] | None:
    """Returns the discounts of counts 1, 2 and 3 or more; None if they are undefined.

        D_j = j - (j+1) Y n_{j+1} / n_j,   Y = n_1 / (n_1 + 2 n_2)

    where n_j is the number of n-grams with adjusted count j (Chen and Goodman 1999, equation 26).
    """
    n = np.bincount(np.minimum(tallied, 5), minlength=6).astype(float)
    if (n[1:4] == 0).any():
        return None
    y = n[1] / (n[1] + 2 * n[2])
    one, two, three = (float(j - (j + 1) * y * n[j + 1] / n[j]) for j in (1, 2, 3))
    if not (0 <= one <= 1 and 0 <= two <= 2 and 0 <= three <= 3):
        return None
    return one, two, three


class KneserNey:
    """Modified Kneser-Ney smoothing of the counts of each order (see the module's formulas).

    `discounts` returns the discounts of an order, or None if the order has too few counts;
    `estimate` then uses `fallback`. `first_order` returns the probability of each word.
    `higher_order` returns the probability of each n-gram and the back-off weight of each context.
    Their argument `keep` marks the n-grams that are not pruned. `lower` holds the probabilities of
    the n-grams that are one word shorter.
    """

    fallback: Discounts = FALLBACK_DISCOUNTS

    def discounts(self, table: NgramCounts) -> Discounts | None:
        return closed_form_discounts(table.tallied)

    def first_order(
        self, table: NgramCounts, keep: Bools, vocabulary: Words, discounts: Discounts
    ) -> Floats:
        shares, gamma = _kneser_ney_shares(table, keep, discounts, contexts=1)
        return shares + gamma / (np.count_nonzero(keep) - 1)

    def higher_order(
        self, table: NgramCounts, keep: Bools, lower: Floats, discounts: Discounts
    ) -> tuple[Floats, Floats]:
        shares, gamma = _kneser_ney_shares(table, keep, discounts, contexts=len(lower))
        return shares + gamma[table.context] * lower[table.suffix], gamma


def _kneser_ney_shares(
    table: NgramCounts, keep: Bools, discounts: Discounts, *, contexts: int
) -> tuple[Floats, Floats]:
    """Returns each n-gram's (a - D(a)) / a(h) and each context's γ(h) (the module's formulas)."""
    adjusted = table.adjusted
    off = np.array([0.0, *discounts])[np.minimum(adjusted, 3)]
    freed = np.where(keep, off, adjusted)
    total = np.bincount(table.context, weights=adjusted, minlength=contexts)
    weight = np.bincount(table.context, weights=freed, minlength=contexts)
    gamma = np.divide(weight, total, out=np.ones(contexts), where=total > 0)
    return (adjusted - off) / total[table.context], gamma


# Katz's k: larger counts are not discounted.
MOST_DISCOUNTED = 5
# A context with less than this share left over has no discounted count.
_NOTHING_LEFT = 1e-9


def good_turing_discounts(counts: NDArray[np.int64]) -> tuple[float, ...] | None:
    """Returns Katz's discounts d_1, …, d_k (the module's formula); None if they are undefined."""
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


class Katz:
    """Katz's back-off smoothing of the counts of each order (see the module's formulas).

    The methods have the same arguments and results as the methods of `KneserNey`.

    If the Good-Turing discounts are undefined, counts are not discounted. If a context then has no
    probability left for unseen words, 1 is added to its total count c(h), as in SRILM. At order 1
    the remaining probability goes to `<unk>`; `<s>` gets none.
    """

    fallback: Discounts = (1.0,) * MOST_DISCOUNTED

    def discounts(self, table: NgramCounts) -> Discounts | None:
        return good_turing_discounts(table.raw)

    def first_order(
        self, table: NgramCounts, keep: Bools, vocabulary: Words, discounts: Discounts
    ) -> Floats:
        shares, left = _good_turing_shares(table, keep, discounts, contexts=1)
        # `<unk>` replaces words that were pruned.
        return np.where(keep & (vocabulary != UNKNOWN), shares, left[0])

    def higher_order(
        self, table: NgramCounts, keep: Bools, lower: Floats, discounts: Discounts
    ) -> tuple[Floats, Floats]:
        shares, left = _good_turing_shares(table, keep, discounts, contexts=len(lower))
        shorter = np.where(keep, lower[table.suffix], 0.0)
        # `<unk>` follows no context, so some probability is always unlisted.
        unlisted = 1 - np.bincount(table.context, weights=shorter, minlength=len(lower))
        weight = np.maximum(left, 0.0) / unlisted
        return np.where(keep, shares, weight[table.context] * lower[table.suffix]), weight


def _good_turing_shares(
    table: NgramCounts, keep: Bools, discounts: Discounts, *, contexts: int
) -> tuple[Floats, Floats]:
    """Returns each n-gram's d_c c(hw) / c(h), and each context's probability of unseen words."""
    share = np.array([0.0, *discounts, 1.0])[np.minimum(table.raw, MOST_DISCOUNTED + 1)]
    total = np.bincount(table.context, weights=table.raw, minlength=contexts)
    seen = np.where(keep, share * table.raw, 0.0)
    left = total - np.bincount(table.context, weights=seen, minlength=contexts)
    total = np.where(left < _NOTHING_LEFT * total, total + 1, total)
    shares = seen / total[table.context]
    given: Floats = np.bincount(table.context, weights=shares, minlength=contexts).astype(
        np.float64
    )
    return shares, 1.0 - given


Smoother = KneserNey | Katz


def prune_thresholds(prune: Sequence[int], order: int) -> tuple[int, ...]:
    """Returns one prune count per order; the last count in `prune` holds for all higher orders."""
    if len(prune) > order:
        raise ValueError(f"prune must have at most {order} counts, one an order, got {len(prune)}")
    if any(count < 0 for count in prune):
        raise ValueError(f"prune counts must be at least 0, got {min(prune)}")
    if list(prune) != sorted(prune):
        raise ValueError(f"prune counts must not decrease with the order, got {list(prune)}")
    last = prune[-1] if prune else 0
    return (*prune, *[last] * (order - len(prune)))


def estimate(
    counts: CorpusCounts, smoother: Smoother, *, prune: Sequence[int] = ()
) -> tuple[list[Grams], tuple[int, ...]]:
    """Returns a smoothed model's n-grams by order, and the orders with fallback discounts.

    prune: for each order, n-grams with at most this count are dropped, after discounts are
      estimated; empty: none are dropped. `<unk>`, `<s>` and `</s>` are always kept.
    """
    vocabulary, tables = counts
    thresholds = prune_thresholds(prune, len(tables))
    words = vocabulary[:, None]
    kept: list[tuple[Words, Floats]] = []
    backoffs: list[Floats] = []
    fallback_orders = []
    keep = np.zeros(0, bool)
    lower = np.zeros(0)
    for order, table in enumerate(tables, start=1):
        discounts = smoother.discounts(table)
        if discounts is None:
            discounts = smoother.fallback
            fallback_orders.append(order)
        kept_below, keep = keep, table.raw > thresholds[order - 1]
        if order == 1:
            keep |= vocabulary < 0
            lower = smoother.first_order(table, keep, vocabulary, discounts)
            lower[vocabulary == BEGIN] = 1.0
        else:
            lower, weight = smoother.higher_order(table, keep, lower, discounts)
            backoffs.append(weight[kept_below])
            words = np.column_stack([words[table.context], vocabulary[table.word]])
        kept.append((words[keep], lower[keep]))
    weights = [*map(_log10, backoffs), None]
    grams = [
        Grams(of_order, np.minimum(_log10(probability), 0.0), weight)
        for (of_order, probability), weight in zip(kept, weights, strict=True)
    ]
    return grams, tuple(fallback_orders)


def _log10(values: Floats) -> Floats:
    """Returns log10 of probabilities or weights; LOG10_ZERO for 0."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log10(values), LOG10_ZERO)
