"""Impossible results are distinguished from surprising ones."""

import pytest

from estimator.intervals import steps_out_of_order
from estimator.validation.file import ValidationRow, row_doubts


def row(measured: float, low: float | None, high: float | None, **more: float) -> ValidationRow:
    return ValidationRow(
        draft="d", temperature=0, tokens=9, gamma=int(more.pop("gamma", 1)), measured=measured,
        measured_low=low, measured_high=high, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (row(2.28, 2.2, 2.4), "a speed-up of 2.28 is more than the 2 tokens of a step"),
        (row(5.22, 1.0, 20.0, gamma=3), "a speed-up of 5.22 is more than the 4 tokens of a step"),
        (row(1.9, 1.85, 1.95), "a speed-up of at least 1.85 is more than the 1.80 tokens of a"),
        (row(1.2, 1.1, 682439247.0), "too noisy to use (1.1 to 6.8e+08 times)"),
        (row(1.2, 1.1, float("inf")), "too noisy to use (1.1 to inf times)"),
        (row(1.2, None, None, predicted=2.1), "a predicted speed-up of 2.10 is more than the 2"),
    ],
)
def test_impossible_numbers_are_named(found: ValidationRow, sentence: str) -> None:
    assert sentence in "; ".join(row_doubts(found, tokens_a_call=1.8))


@pytest.mark.parametrize(
    "found",
    [
        row(1.7, 1.5, 1.9, predicted=1.75),
        row(0.5, None, None),
        row(1.85, 1.7, 2.0),  # beyond 1.8 only by chance
        row(1.2, 0.7, 2.0),
    ],
)
def test_what_merely_surprises_is_left_alone(found: ValidationRow) -> None:
    assert row_doubts(found, tokens_a_call=1.8) == ()


def test_steps_out_of_order_beyond_chance_are_named_with_their_neighbours() -> None:
    seconds = {1: 0.030, 2: 0.010, 4: 0.009, 8: 0.02}
    certain = {(1, 2): (0.2, 0.5), (2, 4): (0.7, 1.1), (4, 8): (1.9, 2.5)}
    found = steps_out_of_order(seconds, lambda a, b: certain[a, b])
    assert found == dict.fromkeys((1, 2), "a step takes 10.00 ms at gamma 2 and 30.00 at gamma 1")
    assert steps_out_of_order(seconds, lambda a, b: (None, None)) == {}
