"""Counts a corpus's n-grams by sorting them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngram.rows.backoff import BEGIN, END, UNKNOWN

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NgramCounts:
    """The distinct n-grams of one order in a corpus, sorted by their words; arrays of shape (n,).

    word: the last word's index in the vocabulary.
    context: index, in the next lower order, of the n-gram without its last word.
    suffix: index, in the next lower order, of the n-gram without its first word.
    raw: number of occurrences.
    adjusted: `raw` for the highest order and for n-grams that begin a text; else the number of
      distinct words before the n-gram (Kneser and Ney 1995; Chen and Goodman 1999, section 3).
    tallied: the adjusted counts from which `lmplz` computes its discounts. In each order but the
      highest, the n-gram that `lmplz` processes last has its raw count instead; in a small corpus
      this changes the discounts.
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
    """Returns the vocabulary, and the counts of all n-grams up to an order (1 to 6).

    Each text is preceded by one `<s>`, and no n-gram crosses from one text into the next. N-grams
    of one order are counted by sorting 64-bit keys: (index of the first n-1 words) * (vocabulary
    size) + (index of the last word). `step` is called after each order.

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
    for n, (word, context, suffix, raw) in enumerate(tables, start=1):
        adjusted = tallied = raw
        if n < order:
            extensions = np.bincount(tables[n][2], minlength=len(raw))
            adjusted = np.where(beginnings[n - 1], raw, extensions)
            tallied = adjusted.copy()
            tallied[last_nodes[n - 1 : n]] = raw[last_nodes[n - 1 : n]]
        counts.append(NgramCounts(word, context, suffix, raw, adjusted, tallied))
    return vocabulary, counts


def _last_of_lmplz(word: Ints, since: Ints, *, order: int, vocabulary: NDArray[np.int32]) -> int:
    """Returns the index in `word` of the last word of the n-gram that `lmplz` processes last.

    `lmplz` numbers words as they first occur (`</s>` and `<s>` before all others) and sorts n-grams
    by their last word, then by the word before it, and so on.

    word: each corpus word's index in the vocabulary; since: number of words before it in its text.
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
