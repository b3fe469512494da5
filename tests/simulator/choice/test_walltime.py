"""Theorem 8 and Corollary 9 of Leviathan et al. 2023, with the numbers that they print."""

from types import SimpleNamespace

import numpy as np
import pytest

from figures.numbers import published
from simulator.choice.walltime import improvement_factor, lower_bound, optimal_gamma


@pytest.mark.parametrize("row", [*published("leviathan-table4")])
def test_table_4_expected_within_rounding(row: SimpleNamespace) -> None:
    # The factor rises with α and falls with c, so these are its extremes over what rounds to the
    # printed α and c; the printed result is itself rounded to 0.1.
    least = improvement_factor(row.alpha - 0.005, row.gamma, row.c + 0.005)
    most = improvement_factor(row.alpha + 0.005, row.gamma, row.c - 0.005)
    assert least - 0.05 <= row.expected <= most + 0.05


@pytest.mark.parametrize(
    "row",
    [
        row
        for row in published("leviathan-table5")
        if row.sampling == "standard" and row.improvement is not None
    ],
)
def test_table_5_prints_more_than_its_alphas_and_c_allow(row: SimpleNamespace) -> None:
    # At the best γ, with the largest α and the smallest c that round to those printed.
    alpha, c = row.alpha + 0.005, 0.0145
    most = improvement_factor(alpha, optimal_gamma(alpha, c, max_gamma=64), c)
    assert most < row.improvement - 0.05


def test_the_bigram_example_of_section_3_6() -> None:
    assert round(float(improvement_factor(0.2, 3, 0)), 2) == 1.25


def test_gamma_zero_is_no_speculation() -> None:
    assert (improvement_factor([0, 0.5, 1], 0, [0, 0.1, 3]) == 1).all()


@pytest.mark.parametrize(("alpha", "c"), [(0.9, 0.1), (0.5, 0.01), (0.11, 0.1), (1.0, 0.99)])
def test_above_break_even_some_gamma_reaches_the_lower_bound(alpha: float, c: float) -> None:
    best = improvement_factor(alpha, np.arange(200), c).max()
    assert best >= lower_bound(alpha, c) > 1
    assert lower_bound(alpha, c) == pytest.approx((1 + alpha) / (1 + c), rel=1e-15)


@pytest.mark.parametrize(("alpha", "c"), [(0.1, 0.1), (0.05, 0.1), (0.0, 0.0), (1.0, 1.0), (1, 3)])
def test_at_or_below_break_even_no_gamma_helps(alpha: float, c: float) -> None:
    assert improvement_factor(alpha, np.arange(1, 200), c).max() <= 1 + 1e-15
    assert lower_bound(alpha, c) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.2, 3, 0.1), r"alpha must lie in \[0, 1\], got 1.2"),
        ((0.5, 3, -0.1), "c must be finite and at least 0, got -0.1"),
        ((0.5, 1.5, 0.1), "gamma must be an integer, got 1.5"),
        (([0.5, 0.6], 3, [0.1, 0.2, 0.3]), "alpha and gamma and c must have shapes"),
    ],
)
def test_bad_arguments_are_refused(arguments: tuple[float, int, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        improvement_factor(*arguments)


def test_bad_arguments_of_the_bound_are_refused() -> None:
    with pytest.raises(ValueError, match="c must be finite and at least 0, got nan"):
        lower_bound(0.5, float("nan"))
    with pytest.raises(ValueError, match="alpha and c must have shapes"):
        lower_bound([0.5, 0.6], [0.1, 0.2, 0.3])
