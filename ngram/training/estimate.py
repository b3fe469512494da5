"""Counts a corpus's n-grams by sorting them; estimates models with any kind of smoothing.

Smoothing goes from low to high orders. An n-gram's probability combines its share of its context's
count with the probability of its last word after the shorter context. Each context has a weight for
words that never followed it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ngram.rows.words import BEGIN, END, UNKNOWN, Grams

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NgramCounts:
    """The distinct n-grams of one order in a corpus, sorted by their words; arrays of shape (n,).

    word: index of the last word in the vocabulary.
    context: index, in the order below, of the n-gram without its last word.
    suffix: index, in the order below, of the n-gram without its first word.
    raw: number of occurrences.
    adjusted: `raw` for the highest order and for n-grams that begin a text; else the number of
      distinct words before the n-gram (Kneser and Ney 1995; Chen and Goodman 1999, section 3).
    tallied: adjusted counts as `lmplz` uses them for its discounts: in each lower order, the n-gram
      that it processes last has its raw count, which visibly changes a small corpus's discounts.
    """

    word: Ints
    context: Ints
    suffix: Ints
    raw: Ints
    adjusted: Ints
    tallied: Ints

    def __len__(self) -> int:
        return len(self.word)


CorpusCounts = tuple[NDArray[np.int32], list[NgramCounts]]
"""The sorted words of a corpus, with `<unk>`, `<s>` and `</s>`, and its counts by order."""


def count_ngrams(
    sentences: NDArray[np.int32], order: int, step: Callable[[], object] = lambda: None
) -> CorpusCounts:
    """Returns the counts of all n-grams up to an order (1 to 6); calls `step` after each order.

    Each text is preceded by one `<s>`, and n-grams do not cross texts. Each order is one sort of
    64-bit keys: the rank of the first n-1 words times the vocabulary size, plus the last word.

    sentences: the ids of all texts in sequence, at least one text, each followed by END.
    """
    if len(sentences) == 0:
        raise ValueError("a corpus must have at least one text, got none")
    ends = np.flatnonzero(sentences == END)
    starts = np.concatenate([[0], ends[:-1] + 1])
    words = np.insert(sentences, starts, np.int32(BEGIN))
    begins = starts + np.arange(len(starts))
    # Number of words since the text's `<s>`: an n-gram ends at a word that has n-1 words before it.
    since = np.arange(len(words)) - np.repeat(begins, np.diff(begins, append=len(words)))

    vocabulary, word = np.unique(np.append(words, np.int32(UNKNOWN)), return_inverse=True)
    word = word[:-1].astype(np.int64)
    size = len(vocabulary)
    raw = np.bincount(word, minlength=size)
    raw[np.searchsorted(vocabulary, BEGIN)] = 0
    step()

    tables = [(np.arange(size), np.zeros(size, np.int64), np.zeros(size, np.int64), raw)]
    beginnings = [vocabulary == BEGIN]
    last = _last_of_lmplz(word, since, order=order, vocabulary=vocabulary)
    last_nodes = [int(word[last])]
    node = word
    for n in range(2, order + 1):
        at = np.flatnonzero(since >= n - 1)
        keys, inverse, raw = np.unique(
            node[at - 1] * size + word[at], return_inverse=True, return_counts=True
        )
        suffix = np.empty(len(keys), np.int64)
        suffix[inverse] = node[at]
        context = keys // size
        tables.append((keys % size, context, suffix, raw))
        beginnings.append(beginnings[-1][context])
        node = np.zeros(len(words), np.int64)
        node[at] = inverse
        if since[last] >= n - 1:
            last_nodes.append(int(node[last]))
        step()

    counts = []
    for n, (own, context, suffix, raw) in enumerate(tables, start=1):
        adjusted = tallied = raw
        if n < order:
            extensions = np.bincount(tables[n][2], minlength=len(raw))
            adjusted = np.where(beginnings[n - 1], raw, extensions)
            tallied = adjusted.copy()
            tallied[last_nodes[n - 1 : n]] = raw[last_nodes[n - 1 : n]]
        counts.append(NgramCounts(own, context, suffix, raw, adjusted, tallied))
    return vocabulary, counts


def _last_of_lmplz(word: Ints, since: Ints, *, order: int, vocabulary: NDArray[np.int32]) -> int:
    """Returns the position in the corpus at which the n-gram that `lmplz` processes last ends.

    `lmplz` numbers words as they first occur (`</s>` and `<s>` before all others) and sorts n-grams
    by their last word, then by the word before it, and so on.
    """
    first = np.zeros(len(vocabulary), np.int64)
    first[word[::-1]] = np.arange(len(word))[::-1]
    first[vocabulary == END] = -1
    first[vocabulary == BEGIN] = -2
    ends = np.flatnonzero(since >= 1)
    for back in range(order):
        # `lmplz` puts any number of `<s>` before a text's first word.
        ranks = first[word[ends - np.minimum(since[ends], back)]]
        ends = ends[ranks == ranks.max()]
    return int(ends[0])


# In place of log10(0), as in SRILM's files: KenLM refuses infinite weights.
LOG10_ZERO = -99.0

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Words = NDArray[np.int32]
Discounts = tuple[float, ...]


class Smoother(Protocol):
    """Turns counts into probabilities, one order at a time.

    Example: a smoother that ignores the context, and gives all seen words one probability.

      >>> from ngram.training.estimate import count_ngrams
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

    fallback: the discounts of an order whose counts are too few to estimate them.
    """

    fallback: Discounts

    def discounts(self, table: NgramCounts) -> Discounts | None:
        """Returns an order's discounts, or None if they are undefined."""

    def first_order(
        self, table: NgramCounts, keep: Bools, vocabulary: Words, discounts: Discounts
    ) -> Floats:
        """Returns the probability of each word, shape (words,); the value of `<s>` is ignored."""

    def higher_order(
        self, table: NgramCounts, keep: Bools, lower: Floats, discounts: Discounts
    ) -> tuple[Floats, Floats]:
        """Returns each n-gram's probability and each context's back-off weight.

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

    An order has fallback discounts if the corpus is too small to estimate its discounts.

    prune: for each order, the count up to which n-grams are dropped, after discounts are estimated;
      empty: none are dropped. `<unk>`, `<s>` and `</s>` are always kept.
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
