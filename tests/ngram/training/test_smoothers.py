"""Kneser-Ney and Katz equal their formulas by hand, and KenLM entry by entry."""

import functools
import math
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ngram.formats.arpa import write_arpa
from ngram.rows.backoff import BEGIN, END, UNKNOWN, Grams, word_name
from ngram.training.counts import count_ngrams
from ngram.training.smoothers import (
    FALLBACK_DISCOUNTS,
    LOG10_ZERO,
    MOST_DISCOUNTED,
    Katz,
    KneserNey,
    Smoother,
    closed_form_discounts,
    estimate,
    good_turing_discounts,
    prune_thresholds,
)
from ngram.training.train import run_lmplz
from tests.ngram.corpora import (
    GOLDEN,
    Entries,
    entries,
    file_entries,
    golden_texts,
    random_texts,
    sentences,
    trained,
)
from tests.ngram.oracles import kenlm_model, kenlm_state

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


@pytest.mark.parametrize("smoother", [KneserNey(), Katz()])
@pytest.mark.parametrize("prune", [(), (0, 1), (1, 2, 3)])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_row_sums_to_one(order: int, prune: Sequence[int], smoother: Smoother) -> None:
    counts = count_ngrams(sentences(random_texts(3)), order)
    ours = entries(estimate(counts, smoother, prune=prune[:order])[0])
    words = [gram[0] for gram in ours if len(gram) == 1 and gram[0] != BEGIN]
    contexts = [gram for gram in ours if len(gram) < order and gram[-1] not in (END, UNKNOWN)]
    for context in [(), *contexts]:
        assert sum(probability(ours, context, word) for word in words) == pytest.approx(1, abs=1e-9)


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


@pytest.mark.parametrize("smoother", [KneserNey(), Katz()])
def test_a_thin_corpus_takes_the_fallback_and_says_so(smoother: Smoother) -> None:
    assert estimate(count_ngrams(sentences([[1, 2]]), 3), smoother)[1] == (1, 2, 3)
    assert smoother.fallback in (FALLBACK_DISCOUNTS, (1.0,) * MOST_DISCOUNTED)


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


def test_leftover_probability_goes_to_the_shorter_context() -> None:
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
    shares = [2 * 300 / 1000, 3 * 140 / 300 / 2, 4 * 85 / 140 / 3, 5 * 58 / 85 / 4, 6 * 42 / 58 / 5]
    expected = [(share - mu) / (1 - mu) for share in shares]
    assert good_turing_discounts(falling) == pytest.approx(expected)


@pytest.mark.parametrize(
    "counts", [[], [1, 2, 3, 4, 5], [2, 3, 4, 5, 6], [1] + [2, 3, 4, 5, 6] * 3]
)
def test_discounts_can_be_undefined_of_katz(counts: list[int]) -> None:
    assert good_turing_discounts(np.array(counts, np.int64)) is None
