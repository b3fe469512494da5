"""Katz's back-off equals the formula by brute force; its rows sum to one; KenLM reads it alike."""

import functools
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from corpora import Entries, entries, random_texts, sentences
from oracles import kenlm_model, kenlm_state

from ngram.formats.arpa import write_arpa
from ngram.rows.words import BEGIN, END, UNKNOWN, Grams, word_name
from ngram.training.counts import count_ngrams
from ngram.training.estimate import estimate
from ngram.training.smoothers import MOST_DISCOUNTED, Katz, good_turing_discounts

Words = tuple[int, ...]


def katz(
    texts: Sequence[Sequence[int]], order: int, prune: Sequence[int] = ()
) -> tuple[list[Grams], tuple[int, ...]]:
    return estimate(count_ngrams(sentences(texts), order), Katz(), prune=prune)


class BruteForce:
    """Katz 1987 word by word, each probability from the raw texts."""

    def __init__(self, texts: Sequence[Sequence[int]], order: int, prune: Sequence[int]) -> None:
        self.counts: Counter[Words] = Counter()
        for text in texts:
            words = [BEGIN, *text, END]
            for n in range(1, order + 1):
                self.counts.update(tuple(words[at : at + n]) for at in range(len(words) - n + 1))
        del self.counts[(BEGIN,)]
        self.thresholds = [*prune, *[prune[-1] if prune else 0] * (order - len(prune))]
        self.words = sorted({word for (word,) in filter(lambda gram: len(gram) == 1, self.counts)})
        self.discounts = [self._discounts(n) for n in range(1, order + 1)]
        self.p = functools.cache(self.p)  # type: ignore[method-assign]
        self.alpha = functools.cache(self.alpha)  # type: ignore[method-assign]
        self._left = functools.cache(self._left)  # type: ignore[method-assign]

    def _discounts(self, order: int) -> list[float]:
        n = Counter(count for gram, count in self.counts.items() if len(gram) == order)
        if any(n[r] == 0 for r in range(1, 7)) or 6 * n[6] >= n[1]:
            return [1.0] * 5
        mu = 6 * n[6] / n[1]
        found = [((r + 1) * n[r + 1] / n[r] / r - mu) / (1 - mu) for r in range(1, 6)]
        return found if all(0 < d <= 1 for d in found) else [1.0] * 5

    def kept(self, gram: Words) -> bool:
        listed = self.counts[gram] > self.thresholds[len(gram) - 1]
        return listed or gram == (END,)

    def p(self, context: Words, word: int) -> float:
        """p(word | context)."""
        if word != UNKNOWN and self.kept((*context, word)):
            return self._own(context, word)
        if not context:
            return 1 - sum(self._own((), other) for other in self.words if self.kept((other,)))
        if self._total(context) == 0:
            return self.p(context[1:], word)
        return self.alpha(context) * self.p(context[1:], word)

    def _total(self, context: Words) -> int:
        return sum(self.counts[(*context, word)] for word in self.words)

    def _discounted(self, context: Words, word: int) -> float:
        count = self.counts[(*context, word)]
        return count * (self.discounts[len(context)][count - 1] if 1 <= count <= 5 else 1.0)

    def _own(self, context: Words, word: int) -> float:
        return self._discounted(context, word) / self._left(context)

    def _left(self, context: Words) -> int:
        """The divisor of counts: their sum, plus one if no probability would be left."""
        total = self._total(context)
        seen = sum(
            self._discounted(context, other) for other in self.words if self.kept((*context, other))
        )
        return total + 1 if total - seen < 1e-9 * total else total

    def alpha(self, context: Words) -> float:
        listed = [word for word in self.words if self.kept((*context, word))]
        left = 1 - sum(self._own(context, word) for word in listed)
        return left / (1 - sum(self.p(context[1:], word) for word in listed))


def small_texts() -> list[list[int]]:
    """Returns texts whose bigrams and trigrams are discounted, and whose words are not."""
    return random_texts(0, texts=300, words=40, mean=8)


@pytest.mark.parametrize("prune", [(), (0, 1), (2, 3)])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_estimate_is_the_formula_by_brute_force(order: int, prune: tuple[int, ...]) -> None:
    texts = small_texts()
    truth = BruteForce(texts, order, prune[:order])
    ours = entries(katz(texts, order, prune[:order])[0])
    assert len(ours) > 8
    for gram, (probability, backoff) in ours.items():
        if gram == (BEGIN,):
            assert probability == 0
        else:
            assert 10**probability == pytest.approx(truth.p(gram[:-1], gram[-1]), abs=1e-10), gram
        if len(gram) < order and gram[-1] not in (END, UNKNOWN) and truth._total(gram) > 0:
            assert 10**backoff == pytest.approx(truth.alpha(gram), rel=1e-8), gram


def test_the_case_is_one_of_estimated_discounts() -> None:
    assert katz(small_texts(), 3)[1] == (1,)
    truth = BruteForce(small_texts(), 3, ())
    _, tables = count_ngrams(sentences(small_texts()), 3)
    discounts = [Katz().discounts(table) for table in tables]
    assert discounts[0] is None
    for ours, theirs in zip(discounts[1:], truth.discounts[1:], strict=True):
        assert ours == pytest.approx(tuple(theirs))
        assert 0 < theirs[0] < 1


def probability(ours: Entries, context: Words, word: int) -> float:
    """p(word | context) as an ARPA file says it."""
    if (*context, word) in ours:
        return 10 ** ours[(*context, word)][0]
    if not context:
        return 10 ** ours[(UNKNOWN,)][0]
    return 10 ** ours.get(context, (0.0, 0.0))[1] * probability(ours, context[1:], word)


@pytest.mark.parametrize("prune", [(), (0, 1), (1, 2, 3)])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_every_row_sums_to_one(order: int, prune: tuple[int, ...]) -> None:
    ours = entries(katz(random_texts(3), order, prune[:order])[0])
    words = [gram[0] for gram in ours if len(gram) == 1 and gram[0] != BEGIN]
    contexts = [gram for gram in ours if len(gram) < order and gram[-1] not in (END, UNKNOWN)]
    for context in [(), *contexts]:
        assert sum(probability(ours, context, word) for word in words) == pytest.approx(1)


def test_kenlm_reads_the_file_and_scores_alike(tmp_path: Path) -> None:
    texts = random_texts(8, texts=300)
    grams = katz(texts, 3)[0]
    path = tmp_path / "katz.arpa"
    write_arpa(path, list(grams))
    ours, model = entries(grams), kenlm_model(path)
    source = np.random.default_rng(0)
    positive = [gram for gram, (_, backoff) in ours.items() if backoff > 0]
    assert positive  # a weight above 1, which Kneser-Ney never has
    for _ in range(200):
        context = tuple(source.choice(30, size=2).tolist())
        word = int(source.choice(30))
        after = type(kenlm_state(model, ()))()
        scored = model.BaseScore(kenlm_state(model, context), word_name(word), after)
        assert scored == pytest.approx(math.log10(probability(ours, context, word)), abs=1e-4)


def test_what_is_left_goes_to_the_shorter_context_not_to_what_was_seen() -> None:
    """Unlike Kneser and Ney's: of a bigram seen often nothing is taken, nor anything added."""
    texts = [[1, 2]] * 7 + [[1, 3]] * 2 + [[4]]
    ours = entries(katz(texts, 2)[0])
    assert 10 ** ours[(1, 2)][0] == pytest.approx(7 / 10)  # nothing left: one occurrence more
    assert 10 ** ours[(1, 3)][0] == pytest.approx(2 / 10)


def test_discounts_are_katzs() -> None:
    """n = 10, 6, 4, 3, 2, 1: mu = 0.6, r*/r = 1.2 is above 1, so none; then a falling case."""
    rising = np.repeat([1, 2, 3, 4, 5, 6], [10, 6, 4, 3, 2, 1])
    assert good_turing_discounts(rising) is None
    falling = np.repeat([1, 2, 3, 4, 5, 6], [1000, 300, 140, 85, 58, 42])
    mu = 6 * 42 / 1000
    expected = [
        ((2 * 300 / 1000) - mu) / (1 - mu),
        ((3 * 140 / 300) / 2 - mu) / (1 - mu),
        ((4 * 85 / 140) / 3 - mu) / (1 - mu),
        ((5 * 58 / 85) / 4 - mu) / (1 - mu),
        ((6 * 42 / 58) / 5 - mu) / (1 - mu),
    ]
    assert good_turing_discounts(falling) == pytest.approx(expected)


@pytest.mark.parametrize(
    "counts", [[], [1, 2, 3, 4, 5], [2, 3, 4, 5, 6], [1] + [2, 3, 4, 5, 6] * 3]
)
def test_discounts_can_be_undefined(counts: list[int]) -> None:
    assert good_turing_discounts(np.array(counts, np.int64)) is None


def test_a_thin_corpus_discounts_nothing_and_says_so() -> None:
    assert katz([[1, 2]], 3)[1] == (1, 2, 3)
    assert Katz.fallback == (1.0,) * MOST_DISCOUNTED
