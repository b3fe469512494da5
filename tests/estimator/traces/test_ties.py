"""How near to a tie two greedy texts part."""

import math

import pytest
from tabular import TabularModel

from estimator.traces.text_traces import tie_gap


def model() -> TabularModel:
    """Returns a model whose law depends on the last token."""
    rows = {0: [0.1, 0.5, 0.4], 1: [0.2, 0.1, 0.7], 2: [0.3, 0.3, 0.4]}
    return TabularModel(lambda text: rows[text[-1]], 3)


def test_the_gap_is_that_of_the_logits_where_the_texts_first_differ() -> None:
    gap = tie_gap(model(), [0], [1, 2, 2], [1, 0, 2], repetition_penalty=1.0)
    assert gap == pytest.approx(math.log(0.7 / 0.2))


def test_texts_may_part_at_once() -> None:
    gap = tie_gap(model(), [1, 0], [1], [2], repetition_penalty=1.0)
    assert gap == pytest.approx(math.log(0.5 / 0.4))


def test_the_gap_is_taken_after_the_repetition_penalty() -> None:
    """Token 1 is in the text, token 2 is not: 2 log(0.5) against log(0.4)."""
    gap = tie_gap(model(), [1, 0], [2], [1], repetition_penalty=2.0)
    assert gap == pytest.approx(abs(2 * math.log(0.5) - math.log(0.4)))
