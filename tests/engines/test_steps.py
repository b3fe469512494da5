"""Prices of an engine's steps: a line through two gammas, a corner where a third says so."""

import pytest

from engines.trials.steps import Steps
from engines.trials.trial import priced_gammas


def test_a_line_prices_what_lies_between_and_beyond() -> None:
    steps = Steps(1.0, {1: 2.0, 4: 3.5, 8: 5.5})
    assert steps.line_error == pytest.approx(0)
    assert steps.cost.block_seconds([1, 2, 4, 8, 10]) == pytest.approx([2, 2.5, 3.5, 5.5, 6.5])
    assert steps.cost.baseline_seconds == 1.0
    assert steps.cost.c == pytest.approx(0.5)


def test_a_third_point_off_the_line_is_a_corner() -> None:
    steps = Steps(1.0, {1: 2.0, 4: 4.4, 8: 5.5})
    assert steps.line_error == pytest.approx(3.5 / 4.4 - 1)
    assert not steps.is_line
    assert steps.cost.block_seconds([1, 2, 4, 6, 8]) == pytest.approx([2, 2.8, 4.4, 4.95, 5.5])


def test_within_two_per_cent_the_line_stands() -> None:
    steps = Steps(1.0, {1: 2.0, 4: 3.55, 8: 5.5})
    assert steps.is_line
    assert steps.cost.block_seconds(4) == pytest.approx(3.5)


def test_prices_that_fall_on_the_way_are_met() -> None:
    steps = Steps(1.0, {1: 5.0, 2: 4.0, 4: 6.0})
    assert steps.c == pytest.approx(1 / 3)
    assert steps.cost.block_seconds([1, 2, 4]) == pytest.approx([5, 4, 6])
    assert Steps(1.0, {1: 5.0, 4: 4.0}).c == 0


def test_c_is_what_one_more_drafted_token_adds_over_a_token_of_the_target() -> None:
    steps = Steps(1.0, {1: 1.05, 8: 3.0})
    assert steps.c == pytest.approx(1.95 / 7)
    assert steps.cost.c == pytest.approx(1.95 / 7)
    assert steps.cost.block_seconds([1, 8]) == pytest.approx([1.05, 3])
    assert Steps(2.0, {4: 3.0}).c == pytest.approx(1 / 8)


def test_steps_that_grow_faster_than_gamma_keep_their_prices() -> None:
    steps = Steps(1.0, {1: 1.0, 8: 20.0})
    assert steps.c == pytest.approx(19 / 7)
    assert steps.cost.block_seconds([1, 8]) == pytest.approx([1, 20])
    assert steps.cost.c == pytest.approx(0.99)


def test_one_gamma_is_priced_alone() -> None:
    steps = Steps(1.0, {4: 3.0})
    assert steps.line_error is None
    assert steps.cost.block_seconds(4) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("gammas", "priced"),
    [((1, 2, 3, 4, 6, 8), (1, 4, 8)), ((8, 1), (1, 8)), ((4,), (4,)), ((1, 2, 4, 8), (1, 4, 8))],
)
def test_prices_are_taken_at_the_outer_gammas_and_between(
    gammas: tuple[int, ...], priced: tuple[int, ...]
) -> None:
    assert priced_gammas(gammas) == priced
