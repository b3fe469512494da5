"""Our estimator equals the formula by hand, and KenLM's `lmplz` entry by entry."""

import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from corpora import (
    GOLDEN,
    Entries,
    entries,
    file_entries,
    golden_texts,
    random_texts,
    sentences,
    trained,
)

from ngram.rows.words import BEGIN, END, UNKNOWN
from ngram.training.counts import count_ngrams
from ngram.training.estimate import LOG10_ZERO, estimate, prune_thresholds
from ngram.training.smoothers import FALLBACK_DISCOUNTS, KneserNey, closed_form_discounts
from ngram.training.train import run_lmplz

LMPLZ = shutil.which("lmplz")
AGREEMENT = 1e-4  # in log10


def require_agreement(ours: Entries, theirs: Entries) -> None:
    assert ours.keys() == theirs.keys()
    for words, values in theirs.items():
        assert ours[words] == pytest.approx(values, abs=AGREEMENT), words


@pytest.mark.parametrize(
    ("name", "order", "prune"),
    [("order3", 3, ()), ("order3_pruned", 3, (0, 1, 2)), ("order1", 1, ())],
)
def test_golden_files_of_lmplz_are_matched(name: str, order: int, prune: Sequence[int]) -> None:
    ours = entries(trained(golden_texts(), order, prune))
    require_agreement(ours, file_entries(GOLDEN / f"{name}.arpa"))


def test_the_golden_case_is_one_of_estimated_discounts() -> None:
    assert estimate(count_ngrams(sentences(golden_texts()), 3), KneserNey())[1] == ()


@pytest.mark.skipif(LMPLZ is None, reason="KenLM's lmplz is not on PATH")
@pytest.mark.parametrize("order", [1, 3, 6])
@pytest.mark.parametrize("prune", [(0,), (0, 1), (0, 0, 2), (1, 1, 3)])
def test_lmplz_is_matched_live(prune: Sequence[int], order: int, tmp_path: Path) -> None:
    texts = random_texts(1)
    thresholds = prune_thresholds(prune[:order], order)
    path = tmp_path / "lmplz.arpa"
    assert LMPLZ is not None
    fallbacks = run_lmplz(LMPLZ, sentences(texts), path, order=order, prune=thresholds)
    counts = count_ngrams(sentences(texts), order)
    grams, own_fallbacks = estimate(counts, KneserNey(), prune=thresholds)
    assert own_fallbacks == fallbacks
    require_agreement(entries(grams), file_entries(path))


def by_hand(texts: list[list[int]]) -> dict[tuple[int, ...], float]:
    """Returns p of all bigrams of a corpus and of its words, as Chen and Goodman write it."""
    bigrams: Counter[tuple[int, int]] = Counter()
    for text in texts:
        words = [BEGIN, *text, END]
        bigrams.update(pairwise(words))
    before = defaultdict(set)
    for first, second in bigrams:
        before[second].add(first)
    one, two, three = FALLBACK_DISCOUNTS

    def discount(count: int) -> float:
        return [0.0, one, two, three][min(count, 3)]

    types = sum(len(words) for words in before.values())
    vocabulary = len(before) + 1  # and <unk>
    gamma = sum(discount(len(words)) for words in before.values()) / types
    p: dict[tuple[int, ...], float] = {
        (word,): (len(words) - discount(len(words))) / types + gamma / vocabulary
        for word, words in before.items()
    }
    p[(UNKNOWN,)] = gamma / vocabulary
    for context in {first for first, _ in bigrams}:
        counts = {second: n for (first, second), n in bigrams.items() if first == context}
        total = sum(counts.values())
        weight = sum(discount(n) for n in counts.values()) / total
        for word, n in counts.items():
            p[(context, word)] = (n - discount(n)) / total + weight * p[(word,)]
    return p


def test_a_bigram_model_is_the_formula_by_hand() -> None:
    texts = [[1, 2, 1, 2, 3], [1, 2], [3, 3, 1, 2, 4]]
    assert estimate(count_ngrams(sentences(texts), 2), KneserNey())[1] == (1, 2)
    ours = entries(trained(texts, 2))
    expected = by_hand(texts)
    expected[(BEGIN,)] = 1.0
    assert {words: 10**p for words, (p, _) in ours.items()} == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("prune", [(), (0, 1), (1, 2, 3)])
def test_every_order_sums_to_one(prune: Sequence[int]) -> None:
    # Each context's listed probabilities, and its weight times what is left of the shorter one's.
    for order in (2, 3, 4):
        ours = entries(trained(random_texts(3), order, prune[:order]))
        words = [gram[0] for gram in ours if len(gram) == 1 and gram[0] != BEGIN]

        def p(context: tuple[int, ...], word: int, ours: Entries = ours) -> float:
            if (*context, word) in ours:
                return 10 ** ours[(*context, word)][0]
            return 10 ** ours.get(context, (0.0, 0.0))[1] * p(context[1:], word, ours)

        for context in [gram for gram in ours if len(gram) < order and gram[-1] not in (-1, -3)]:
            assert sum(p(context, word) for word in words) == pytest.approx(1, abs=1e-12)


def test_discounts_are_chen_and_goodmans() -> None:
    # n_1 = 6, n_2 = 3, n_3 = 2, n_4 = 1: Y = 1/2.
    counts = np.array([1] * 6 + [2] * 3 + [3] * 2 + [4] + [9] * 5)
    assert closed_form_discounts(counts) == pytest.approx((0.5, 1.0, 2.0))


@pytest.mark.parametrize(
    "counts",
    [[], [1, 1, 2], [2, 2, 3], [1, 3, 3], [1] * 9 + [2] + [3] * 9],
    ids=["none", "no threes", "no ones", "no twos", "out of range"],
)
def test_discounts_can_be_undefined(counts: list[int]) -> None:
    assert closed_form_discounts(np.array(counts, np.int64)) is None


def test_a_thin_corpus_takes_the_fallback_and_says_so() -> None:
    assert estimate(count_ngrams(sentences([[1, 2]]), 3), KneserNey())[1] == (1, 2, 3)
    assert KneserNey.fallback == FALLBACK_DISCOUNTS


def test_pruning_keeps_special_words_and_frees_their_mass() -> None:
    ours = entries(trained([[1, 2], [1, 2], [1, 3]], 2, (9,)))
    assert ours.keys() == {(UNKNOWN,), (BEGIN,), (END,)}
    assert sum(10 ** ours[(word,)][0] for word in (UNKNOWN, END)) == pytest.approx(1)


def test_no_weight_is_infinite() -> None:
    grams = trained(random_texts(4), 3)
    for of_order in grams[:-1]:
        assert of_order.log10_backoff is not None
        assert np.isfinite(of_order.log10_backoff).all()
        assert (of_order.log10_backoff >= LOG10_ZERO).all()


@pytest.mark.parametrize(
    ("prune", "thresholds"), [((), (0, 0, 0)), ((1,), (1, 1, 1)), ((0, 2), (0, 2, 2))]
)
def test_the_last_prune_count_holds_on(prune: Sequence[int], thresholds: Sequence[int]) -> None:
    assert prune_thresholds(prune, 3) == thresholds


@pytest.mark.parametrize(
    ("prune", "message"),
    [
        ((0, 0, 0, 1), "prune must have at most 3 counts, one an order, got 4"),
        ((-1,), "prune counts must be at least 0, got -1"),
        ((1, 0), r"prune counts must not decrease with the order, got \[1, 0\]"),
    ],
)
def test_bad_prune_counts_are_refused(prune: Sequence[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prune_thresholds(prune, 3)
