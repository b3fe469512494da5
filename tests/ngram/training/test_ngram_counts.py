"""Counts by sorting equal counts by hand."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from corpora import golden_texts, random_texts, sentences

from ngram.rows.words import BEGIN, END, UNKNOWN
from ngram.training.counts import CorpusCounts, count_ngrams

TEXTS = {
    "random": random_texts(1),
    "short texts": [[1], [2], [1, 2], [1], [3, 3, 3, 3]],
    "one word": [[7]],
    "golden": golden_texts(),
}


def counted_by_hand(texts: list[list[int]], order: int) -> dict[tuple[int, ...], int]:
    counts: Counter[tuple[int, ...]] = Counter()
    for text in texts:
        words = [BEGIN, *text, END]
        counts.update(
            tuple(words[start : start + order]) for start in range(len(words) - order + 1)
        )
    return dict(counts)


def named(counts: CorpusCounts, order: int) -> list[tuple[int, ...]]:
    """Returns the words of each n-gram of an order."""
    vocabulary, tables = counts
    table = tables[order - 1]
    last = vocabulary[table.word].tolist()
    if order == 1:
        return [(word,) for word in last]
    contexts = named(counts, order - 1)
    return [(*contexts[context], word) for context, word in zip(table.context, last, strict=True)]


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_raw_counts_are_occurrences(texts: list[list[int]], order: int) -> None:
    counts = count_ngrams(sentences(texts), order)
    for n in range(2, order + 1):
        raw = dict(zip(named(counts, n), counts[1][n - 1].raw.tolist(), strict=True))
        assert raw == counted_by_hand(texts, n)
    unigrams = dict(zip(named(counts, 1), counts[1][0].raw.tolist(), strict=True))
    assert unigrams == counted_by_hand(texts, 1) | {(BEGIN,): 0, (UNKNOWN,): 0}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_adjusted_counts_are_distinct_words_before(texts: list[list[int]]) -> None:
    order = 4
    counts = count_ngrams(sentences(texts), order)
    for n in range(1, order):
        before = defaultdict(set)
        for words in counted_by_hand(texts, n + 1):
            before[words[1:]].add(words[0])
        occurrences = counted_by_hand(texts, n)
        for words, adjusted in zip(
            named(counts, n), counts[1][n - 1].adjusted.tolist(), strict=True
        ):
            if words[0] == BEGIN and n > 1:
                assert adjusted == occurrences[words]
            else:
                assert adjusted == len(before[words])
    highest = counts[1][-1]
    np.testing.assert_array_equal(highest.adjusted, highest.raw)


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_ngrams_are_sorted_and_their_suffixes_found(texts: list[list[int]]) -> None:
    counts = count_ngrams(sentences(texts), 4)
    for n in range(2, 5):
        words = named(counts, n)
        assert words == sorted(words)
        shorter = named(counts, n - 1)
        assert [shorter[place] for place in counts[1][n - 1].suffix] == [
            words[1:] for words in words
        ]


def test_the_last_ngram_of_each_lower_order_is_tallied_raw() -> None:
    # Word 9 appears last of all words, twice, and both times after 4 5.
    counts = count_ngrams(sentences([[4, 5], [4, 5, 9], [4, 5, 9]]), 3)
    changed = [
        words
        for n in (1, 2)
        for words, tallied, adjusted in zip(
            named(counts, n),
            counts[1][n - 1].tallied.tolist(),
            counts[1][n - 1].adjusted.tolist(),
            strict=True,
        )
        if tallied != adjusted
    ]
    assert changed == [(9,), (5, 9)]


def test_each_order_is_a_step() -> None:
    steps: list[int] = []
    count_ngrams(sentences([[1, 2]]), 5, lambda: steps.append(1))
    assert len(steps) == 5


def test_an_empty_corpus_is_refused() -> None:
    with pytest.raises(ValueError, match="a corpus must have at least one text, got none"):
        count_ngrams(np.empty(0, np.int32), 2)
