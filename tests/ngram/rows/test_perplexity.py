"""Perplexity by our rows is KenLM's, over the words that the model has."""

import math
from pathlib import Path

import pytest
from corpora import random_texts, sentences, trained_model, written

from ngram.rows.perplexity import Score, score_kenlm, score_rows
from ngram.rows.rows import Rows
from ngram.rows.words import Vocabulary

VOCABULARY = Vocabulary(40, end=39)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_perplexity_of_known_words_is_kenlms(order: int, tmp_path: Path) -> None:
    path = written(tmp_path / "model.arpa", random_texts(1), order)
    rows = Rows(trained_model(random_texts(1), order), VOCABULARY)
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
    rows = Rows(trained_model([[1, 1], [2]], 1), VOCABULARY)
    row = rows.row([])
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
