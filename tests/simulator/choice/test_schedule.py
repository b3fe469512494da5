"""Schedules: which γ at which batch size."""

import pytest

from simulator.choice.grid import Range, last_paying_batch, schedule


def test_batch_sizes_that_draft_alike_are_one_range() -> None:
    assert schedule({1: 4, 2: 4, 3: 2, 4: 0}) == (Range(1, 2, 4), Range(3, 3, 2), Range(4, 4, 0))


def test_sizes_between_take_the_gamma_of_the_larger() -> None:
    assert schedule({4: 4, 8: 2, 32: 1}) == (Range(1, 4, 4), Range(5, 8, 2), Range(9, 32, 1))


def test_a_gamma_goes_on_while_it_is_near_the_best() -> None:
    near = {1: {4, 5}, 2: {3, 4}, 3: {3, 4}, 4: {2, 3}}
    assert schedule({1: 4, 2: 3, 3: 3, 4: 2}, near) == (Range(1, 3, 4), Range(4, 4, 2))
    assert schedule({1: 4, 2: 3, 3: 3, 4: 2}) == (Range(1, 1, 4), Range(2, 3, 3), Range(4, 4, 2))


def test_the_order_given_does_not_matter() -> None:
    assert schedule({8: 1, 2: 3}) == schedule({2: 3, 8: 1})


def test_every_size_up_to_the_largest_is_in_one_range() -> None:
    ranges = schedule({1: 0, 3: 5, 7: 5, 20: 1})
    sizes = [b for each in ranges for b in range(each.first_batch, each.last_batch + 1)]
    assert sizes == list(range(1, 21))


def test_speculation_stops_paying_after_the_last_range_that_drafts() -> None:
    assert last_paying_batch(schedule({4: 4, 8: 2, 32: 0})) == 8
    assert last_paying_batch(schedule({4: 0})) is None


def test_no_batch_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="gammas must have at least one batch size, got none"):
        schedule({})
