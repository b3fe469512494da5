"""Conversions of servers' numbers into α and back."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator.acceptance.tokens import (
    accepted_fraction,
    alpha_from_accepted_fraction,
    alpha_from_block_efficiency,
    bisect,
    conditional_acceptance,
    expected_tokens,
)

ALPHAS = np.array([0.0, 1e-9, 0.01, 0.3, 0.62, 0.9, 0.999, 1 - 1e-9, 1.0])


def test_bisection_finds_the_root_of_each_bracket() -> None:
    target = np.array([0.0, 1e-12, 0.25, 0.9, 1.0])
    root = bisect(lambda x: x * x - target, np.zeros(5), np.ones(5))
    assert root == pytest.approx(np.sqrt(target), rel=1e-12, abs=1e-15)


def test_accepted_fraction_is_the_mean_of_powers_and_alpha_only_at_gamma_1() -> None:
    powers = ALPHAS[:, np.newaxis] ** np.arange(1, 8)
    assert accepted_fraction(ALPHAS, np.array(7)) == pytest.approx(powers.mean(axis=1), rel=1e-14)
    assert accepted_fraction(ALPHAS, np.array(1)) == pytest.approx(ALPHAS, rel=1e-15)
    assert (np.diff(accepted_fraction(np.array(0.8), np.array([1, 2, 4, 8]))) < 0).all()


@pytest.mark.parametrize("gamma", [1, 2, 5, 17, 100])
def test_fraction_and_efficiency_lead_back_to_alpha(gamma: int) -> None:
    assert alpha_from_accepted_fraction(
        accepted_fraction(ALPHAS, np.array(gamma)), gamma
    ) == pytest.approx(ALPHAS, rel=1e-12)
    # 1 + α + … keeps no more than 16 digits of a tiny α.
    assert alpha_from_block_efficiency(expected_tokens(ALPHAS, gamma), gamma) == pytest.approx(
        ALPHAS, rel=1e-12, abs=1e-15
    )


def test_conditional_rates_are_alpha_at_every_position() -> None:
    assert conditional_acceptance(0.7 ** np.arange(1, 7)) == pytest.approx(np.full(6, 0.7))
    rates = conditional_acceptance([0.5, 0.0, 0.0])
    assert rates[:2].tolist() == [0.5, 0.0]
    assert np.isnan(rates[2])


def test_conditional_rates_of_many_models_are_each_models_own() -> None:
    rates = np.array([[0.5, 0.25, 0.125], [0.9, 0.45, 0.09]])
    expected = np.array([[0.5, 0.5, 0.5], [0.9, 0.5, 0.2]])
    assert conditional_acceptance(rates) == pytest.approx(expected, rel=1e-15)
    assert conditional_acceptance(rates[np.newaxis]).shape == (1, 2, 3)


UNEQUAL = (np.full(3, 0.5), np.full(2, 1))


@pytest.mark.parametrize(
    ("convert", "arguments", "message"),
    [
        (alpha_from_accepted_fraction, (1.5, 4), r"accepted_fraction must lie .*, got 1.5"),
        (alpha_from_accepted_fraction, (0.5, 0), "gamma must be at least 1, got 0"),
        (alpha_from_accepted_fraction, UNEQUAL, "accepted_fraction and gamma must have shapes"),
        (alpha_from_block_efficiency, (0.9, 4), r"block_efficiency must lie in \[1, gamma \+ 1"),
        (alpha_from_block_efficiency, ([2.0, 5.5], 4), r"block_efficiency .* = 5\], got 5.5"),
        (alpha_from_block_efficiency, (2.5, [4, 1]), r"block_efficiency .* = 2\], got 2.5"),
        (alpha_from_block_efficiency, (np.nan, 4), "block_efficiency must be finite .*, got nan"),
        (alpha_from_block_efficiency, (2.0, 0), "gamma must be at least 1, got 0"),
        (alpha_from_block_efficiency, (UNEQUAL[0] + 1, UNEQUAL[1]), "block_efficiency and gamma"),
        (conditional_acceptance, ([0.5, 1.1],), r"position_acceptance must lie in \[0, 1\]"),
        (conditional_acceptance, ([0.5, 0.3, 0.4],), r".* must not rise .* got 0\.4 after 0\.3$"),
    ],
)  # fmt: skip
def test_an_impossible_argument_is_named(
    convert: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValueError, match="^" + message):
        convert(*arguments)
