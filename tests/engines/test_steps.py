"""Prices of an engine's steps: a line through two gammas, a corner where a third says so."""

import pytest

from engines.trials.request import priced_gammas
from engines.trials.steps import Steps


@pytest.mark.parametrize(
    ("seconds", "line_error", "c", "blocks"),
    [
        # A line prices what lies between and beyond.
        ({1: 2.0, 4: 3.5, 8: 5.5}, 0, 0.5, {1: 2, 2: 2.5, 4: 3.5, 8: 5.5, 10: 6.5}),
        # A third point off the line is a corner; within two per cent the line is kept.
        ({1: 2.0, 4: 4.4, 8: 5.5}, 3.5 / 4.4 - 1, 0.5, {1: 2, 2: 2.8, 4: 4.4, 6: 4.95, 8: 5.5}),
        ({1: 2.0, 4: 3.55, 8: 5.5}, 3.5 / 3.55 - 1, 0.5, {4: 3.5}),
        # Prices that fall on the way are met; c is at least 0.
        ({1: 5.0, 2: 4.0, 4: 6.0}, 16 / 3 / 4 - 1, 1 / 3, {1: 5, 2: 4, 4: 6}),
        ({1: 5.0, 4: 4.0}, None, 0, {1: 5, 4: 4}),
        # c is what one more drafted token adds, over a token of the target.
        ({1: 1.05, 8: 3.0}, None, 1.95 / 7, {1: 1.05, 8: 3}),
        # With a single gamma, c is taken from the target.
        ({4: 3.0}, None, 0.5, {4: 3}),
    ],
)
def test_steps_are_priced_by_a_line_or_a_corner(
    seconds: dict[int, float], line_error: float | None, c: float, blocks: dict[int, float]
) -> None:
    steps = Steps(1.0, seconds)
    assert steps.line_error == (None if line_error is None else pytest.approx(line_error))
    assert steps.is_line == (line_error is None or abs(line_error) <= 0.02)
    assert steps.c == pytest.approx(c)
    assert steps.cost.block_seconds(list(blocks)) == pytest.approx(list(blocks.values()))
    assert steps.cost.baseline_seconds == 1.0
    assert steps.cost.c == pytest.approx(c)


def test_steps_that_grow_faster_than_gamma_keep_their_prices() -> None:
    steps = Steps(1.0, {1: 1.0, 8: 20.0})
    assert steps.c == pytest.approx(19 / 7)
    assert steps.cost.block_seconds([1, 8]) == pytest.approx([1, 20])
    assert steps.cost.c == pytest.approx(0.99)


@pytest.mark.parametrize(
    ("gammas", "priced"),
    [((1, 2, 3, 4, 6, 8), (1, 4, 8)), ((8, 1), (1, 8)), ((4,), (4,)), ((1, 2, 4, 8), (1, 4, 8))],
)
def test_prices_are_taken_at_the_outer_gammas_and_between(
    gammas: tuple[int, ...], priced: tuple[int, ...]
) -> None:
    assert priced_gammas(gammas) == priced
