"""Rows equal KenLM's scores word by word, and are laws."""

import math
from collections.abc import Sequence
from pathlib import Path

import kenlm
import numpy as np
import pytest

from ngram.formats.arpa import read_arpa
from ngram.rows.backoff import BEGIN, END, UNKNOWN, Grams, build
from ngram.rows.rows import Rows, Score, Vocabulary, score_kenlm, score_rows
from tests.ngram.corpora import (
    GOLDEN,
    golden_texts,
    random_texts,
    sentences,
    trained_model,
    written,
)
from tests.ngram.oracles import LN10, kenlm_model, kenlm_state

TOKENS, LAST = 160, 159  # of the golden corpus: ids below 150, of which some are not in it
VOCABULARY = Vocabulary(TOKENS, end=LAST)
AGREEMENT = 1e-4  # in log10


def golden_rows() -> Rows:
    path = GOLDEN / "order3.arpa"
    return Rows(build(read_arpa(path), source=str(path)), VOCABULARY)


def some_contexts(order: int) -> list[list[int]]:
    """Returns contexts of all kinds: seen, random, with unknown words, short, long, at a start."""
    source = np.random.default_rng(order)
    texts = golden_texts()
    contexts: list[list[int]] = [[], [BEGIN], [LAST - 1], [BEGIN, LAST - 1]]
    for _ in range(40):
        length = int(source.integers(0, order + 2))
        text = texts[source.integers(len(texts))]
        start = int(source.integers(0, len(text)))
        contexts.append(text[start : start + length])
        contexts.append([BEGIN, *text[:length]])
        contexts.append(source.integers(0, TOKENS - 1, length).tolist())
    return contexts


def require_kenlms_scores(rows: Rows, model: kenlm.Model, contexts: list[list[int]]) -> None:
    lacking = [word for word in range(TOKENS) if word != LAST and str(word) not in model]
    assert lacking
    after = kenlm.State()
    names = ["</s>" if word == LAST else str(word) for word in range(TOKENS)]
    for context in contexts:
        state = kenlm_state(model, context)
        expected = np.array([model.BaseScore(state, name, after) for name in names])
        expected[lacking] -= math.log10(len(lacking))
        row = rows.log_row(context)
        np.testing.assert_allclose(row / LN10, expected, rtol=0, atol=AGREEMENT)


@pytest.mark.parametrize("prune", [(), (0, 1), (1, 1, 2)])
@pytest.mark.parametrize("order", [2, 3, 4, 5, 6])
def test_rows_are_kenlms_scores(order: int, prune: Sequence[int], tmp_path: Path) -> None:
    path = written(tmp_path / "model.arpa", golden_texts(), order, prune[:order])
    rows = Rows(build(read_arpa(path), source=str(path)), VOCABULARY)
    require_kenlms_scores(rows, kenlm_model(path), some_contexts(order))


@pytest.mark.parametrize("name", ["order3", "order3_pruned"])
def test_rows_of_lmplz_files_are_kenlms_scores(name: str) -> None:
    path = GOLDEN / f"{name}.arpa"
    rows = Rows(build(read_arpa(path), source=str(path)), VOCABULARY)
    require_kenlms_scores(rows, kenlm_model(path), some_contexts(3))


def test_order_1_is_its_file_whatever_came_before() -> None:
    path = GOLDEN / "order1.arpa"
    grams = next(iter(read_arpa(path)))
    listed = dict(zip(grams.words[:, 0].tolist(), grams.log10_probability.tolist(), strict=True))
    rows = Rows(build([grams], source=str(path)), VOCABULARY)
    lacking = TOKENS + 2 - len(listed)
    for context in ([], [BEGIN], [0, 5], [LAST - 1]):
        row = np.exp(rows.log_row(context))
        assert row[LAST] == pytest.approx(10 ** listed[END])
        for word in range(TOKENS - 1):
            share = 10 ** listed[UNKNOWN] / lacking
            assert row[word] == pytest.approx(10 ** listed[word] if word in listed else share)


@pytest.mark.parametrize("order", [1, 2, 3, 6])
@pytest.mark.parametrize("prune", [(), (0, 1), (2,)])
def test_rows_sum_to_one(order: int, prune: Sequence[int]) -> None:
    rows = Rows(trained_model(golden_texts(), order, prune[:order]), VOCABULARY)
    for context in some_contexts(order):
        row = np.exp(rows.log_row(context))
        assert row.shape == (TOKENS,)
        assert (row > 0).all()
        assert row.sum(dtype=np.float64) == pytest.approx(1, abs=1e-6)


def test_rows_of_a_whole_vocabulary_sum_to_one() -> None:
    # With every id in the model nothing is left for <unk>, and the others take its mass over.
    texts = [[0, 1, 2], [2, 1], [0, 0]]
    rows = Rows(trained_model(texts, 2), Vocabulary(4, end=3))
    free = Rows(trained_model(texts, 2), Vocabulary(5, end=3))
    for context in ([], [BEGIN], [0], [2], [3]):
        row, other = np.exp(rows.log_row(context)), np.exp(free.log_row(context))
        assert row.sum(dtype=np.float64) == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(row, other[:4] / other[:4].sum(), rtol=1e-6)


@pytest.mark.parametrize("width", [TOKENS, TOKENS + 64, TOKENS - 4])
def test_rows_can_be_wider_or_narrower_than_the_tokenizer(width: int) -> None:
    model = golden_rows().model
    row = np.exp(Rows(model, VOCABULARY, width=width).log_row([0]))
    whole = np.exp(golden_rows().log_row([0]))
    assert row.shape == (width,)
    np.testing.assert_allclose(row[:TOKENS], whole[:width], rtol=1e-6)
    assert (row[TOKENS:] == 0).all()


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ([], [BEGIN]),
        ([5], [BEGIN, 5]),
        ([5, 6], [5, 6]),
        ([4, 5, 6], [5, 6]),
        ([LAST], [BEGIN]),
        ([4, LAST], [BEGIN]),
        ([4, LAST, 5], [BEGIN, 5]),
        ([LAST, 5, 6], [5, 6]),
    ],
)
def test_a_text_begins_where_one_ended(text: list[int], context: list[int]) -> None:
    assert golden_rows().context(text) == context


def test_a_beginning_of_text_begins_a_text_and_order_1_needs_no_context() -> None:
    rows = Rows(golden_rows().model, Vocabulary(TOKENS, end=LAST, begin=LAST - 1))
    assert rows.context([LAST - 1, 5]) == [BEGIN, 5]
    assert Rows(trained_model([[1]], 1), Vocabulary(4, end=3)).context([1, 2]) == []


def test_another_tokenizers_ids_are_refused() -> None:
    model = trained_model([[1, 7]], 2)
    with pytest.raises(ValueError, match="ids must be below the tokenizer's 5 tokens, got 7"):
        Rows(model, Vocabulary(5, end=0))
    with pytest.raises(ValueError, match="must call the end of text </s>, got the id 7"):
        Rows(model, Vocabulary(8, end=7))
    for end in (-1, 4):
        with pytest.raises(ValueError, match=rf"must lie in \[0, 4\), got {end}"):
            Vocabulary(4, end=end)


def test_unlisted_shorter_contexts_weigh_1() -> None:
    # 1 2 is listed and 1 2 3 continues it, though 2 3 is not: as the definition says, p(3 | 2)
    # backs off to the unigram.
    def grams(rows: list[tuple[list[int], float, float]], highest: bool) -> Grams:
        return Grams(
            np.array([words for words, _, _ in rows], np.int32),
            np.array([p for _, p, _ in rows]),
            None if highest else np.array([b for _, _, b in rows]),
        )

    unigrams = grams(
        [([word], -0.7, -0.1 * (word + 4)) for word in (UNKNOWN, BEGIN, END, 1, 2, 3)], False
    )
    bigrams = grams([([1, 2], -0.2, -0.3)], False)
    trigrams = grams([([1, 2, 3], -0.4, 0.0)], True)
    rows = Rows(build([unigrams, bigrams, trigrams], source="test"), Vocabulary(10, end=0))
    assert rows.log_row([1, 2])[3] / LN10 == pytest.approx(-0.4)
    assert rows.log_row([1, 2])[1] / LN10 == pytest.approx(-0.3 - 0.6 - 0.7)
    assert rows.log_row([3, 2])[1] / LN10 == pytest.approx(-0.6 - 0.7)
    assert rows.log_row([3, 1])[2] / LN10 == pytest.approx(-0.2)


SCORED = Vocabulary(40, end=39)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_perplexity_of_known_words_is_kenlms(order: int, tmp_path: Path) -> None:
    path = written(tmp_path / "model.arpa", random_texts(1), order)
    rows = Rows(trained_model(random_texts(1), order), SCORED)
    held_out = sentences([*random_texts(2, texts=20), [35, 1, 36], [38]])
    steps: list[int] = []
    ours = score_rows(rows, held_out, steps.append)
    theirs = score_kenlm(path, held_out)
    assert (ours.words, ours.unknown) == (theirs.words, theirs.unknown) == (len(held_out), 3)
    assert ours.known_perplexity == pytest.approx(theirs.known_perplexity, rel=1e-5)
    # KenLM gives each unknown word what our rows divide among those that the model lacks.
    lacking = 39 - (len(rows.model.levels[0].words) - 3)
    expected = theirs.log_probability - 3 * math.log(lacking)
    assert ours.log_probability == pytest.approx(expected, rel=1e-6)
    assert sum(steps) == len(held_out)


def test_order_1_is_scored_by_rows_alone(tmp_path: Path) -> None:
    rows = Rows(trained_model([[1, 1], [2]], 1), SCORED)
    row = np.exp(rows.log_row([]))
    expected = [row[1], row[1], row[39], row[2], row[39]]
    score = score_rows(rows, sentences([[1, 1], [2]]))
    assert score.log_probability == pytest.approx(sum(map(math.log, expected)))
    path = written(tmp_path / "model.arpa", [[1, 1], [2]], 1)
    with pytest.raises(ValueError, match=r"KenLM must be able to load .*model.arpa, got"):
        score_kenlm(path, sentences([[1]]))


def test_perplexity_is_the_inverse_mean_probability() -> None:
    score = Score(words=4, unknown=4, log_probability=4 * math.log(0.1), known_log_probability=0)
    assert score.perplexity == pytest.approx(10)
    assert math.isnan(score.known_perplexity)
