"""Smoothed models from counts: the common part of Kneser-Ney and Katz.

Both go from low to high orders. An n-gram's probability combines its share of its context's count
with the probability of its last word after the shorter context. Each context has a weight for words
that never followed it.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ngram.rows.words import BEGIN, Grams
from ngram.training.counts import CorpusCounts, NgramCounts

# In place of log10(0), as in SRILM's files: KenLM refuses infinite weights.
LOG10_ZERO = -99.0

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Words = NDArray[np.int32]
Discounts = tuple[float, ...]


class Smoother(Protocol):
    """Turns counts into probabilities, one order at a time.

    Example: a smoother that ignores the context, and gives all seen words one probability.

      >>> from ngram.training.counts import count_ngrams
      >>> class Level(Smoother):
      ...     fallback = ()
      ...     def discounts(self, table):
      ...         return ()
      ...     def first_order(self, table, keep, vocabulary, discounts):
      ...         return np.full(len(keep), 1 / (len(keep) - 1))
      ...     def higher_order(self, table, keep, lower, discounts):
      ...         return lower[table.suffix], np.ones(len(lower))
      >>> grams, _ = estimate(count_ngrams(np.array([5, 6, -1], np.int32), order=2), Level())
      >>> (10 ** grams[0].log10_probability).round(2).tolist()  # <unk> <s> </s> 5 6
      [0.25, 1.0, 0.25, 0.25, 0.25]
    """

    @property
    def fallback(self) -> Discounts:
        """The discounts of an order whose counts are too few to estimate them."""

    def discounts(self, table: NgramCounts) -> Discounts | None:
        """Returns an order's discounts, or None if they are undefined."""

    def first_order(
        self, table: NgramCounts, keep: Bools, vocabulary: Words, discounts: Discounts
    ) -> Floats:
        """Returns the probability of each word, shape (words,); `<s>` may have any."""

    def higher_order(
        self, table: NgramCounts, keep: Bools, lower: Floats, discounts: Discounts
    ) -> tuple[Floats, Floats]:
        """Returns each n-gram's probability and each context's weight.

        keep: which of the table's n n-grams the model keeps, shape (n,).
        lower: probabilities of the order below, shape (contexts,).
        """


def prune_thresholds(prune: Sequence[int], order: int) -> tuple[int, ...]:
    """Returns a threshold for each order; the last given one also holds for all higher orders."""
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

    These are the orders for which the corpus is too small to estimate discounts.

    prune: by order, n-grams with this count or less are dropped; none by default. Discounts are
      estimated before. `<unk>`, `<s>` and `</s>` are always kept.
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
