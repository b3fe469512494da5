"""Each conversion names the argument that it refuses, at every axis and for every shape."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator.acceptance.conversions import (
    accepted_fraction,
    alpha_from_accepted_fraction,
    alpha_from_block_efficiency,
    alpha_from_counts,
    conditional_acceptance,
    position_acceptance,
)

UNEQUAL = (np.full(3, 0.5), np.full(2, 1))


@pytest.mark.parametrize(
    ("convert", "arguments", "message"),
    [
        (accepted_fraction, (1.5, 2), r"alpha must lie in \[0, 1\], got 1.5"),
        (accepted_fraction, (0.5, 0), "gamma must be at least 1, got 0"),
        (accepted_fraction, UNEQUAL, "alpha and gamma must have shapes that broadcast"),
        (alpha_from_accepted_fraction, (0.5, 0), "gamma must be at least 1, got 0"),
        (alpha_from_accepted_fraction, UNEQUAL, "accepted_fraction and gamma must have shapes"),
        (alpha_from_block_efficiency, (UNEQUAL[0] + 1, UNEQUAL[1]), "block_efficiency and gamma"),
        (position_acceptance, (-0.1, 2), r"alpha must lie in \[0, 1\], got -0.1"),
        (position_acceptance, (0.5, 0), "gamma must be at least 1, got 0"),
        (position_acceptance, UNEQUAL, "alpha and gamma must have shapes that broadcast"),
        (conditional_acceptance, ([0.5, 1.1],), r"position_acceptance must lie in \[0, 1\]"),
        (alpha_from_counts, (0.5, 1), "accepted must be an integer, got 0.5"),
        (alpha_from_counts, (0, 0), r"accepted \+ rejected_blocks must be at least 1, got 0"),
        (alpha_from_counts, (np.ones(3), np.ones(2)), "accepted and rejected_blocks must have"),
    ],
)
def test_an_impossible_argument_is_named(
    convert: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValueError, match="^" + message):
        convert(*arguments)


def test_the_rates_that_rise_are_the_ones_shown() -> None:
    with pytest.raises(ValueError, match=r"got 0\.4 after 0\.3$"):
        conditional_acceptance([0.5, 0.5, 0.3, 0.4])


def test_a_single_drafted_position_is_accepted_at_alpha() -> None:
    assert position_acceptance(0.7, 1).tolist() == [0.7]


def test_no_rates_at_all_have_no_positions() -> None:
    assert position_acceptance([], np.array([], dtype=np.int64)).shape == (0, 0)


def test_conditional_rates_of_many_models_are_each_models_own() -> None:
    rates = np.array([[0.5, 0.25, 0.125], [0.9, 0.45, 0.09]])
    expected = np.array([[0.5, 0.5, 0.5], [0.9, 0.5, 0.2]])
    assert conditional_acceptance(rates) == pytest.approx(expected, rel=1e-15)
    assert conditional_acceptance(rates[np.newaxis]).shape == (1, 2, 3)
