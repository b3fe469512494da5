"""Eq. 1 of Leviathan et al. 2023 and the law of τ."""

from fractions import Fraction

import numpy as np
import pytest

from simulator.acceptance.tokens import (
    expected_accepted,
    expected_tokens,
    tokens_distribution,
    unbounded_tokens,
)

ALPHAS = [0.0, 1e-300, 1e-9, 0.2, 0.5, 0.8, 0.999, 1 - 1e-8, 1 - 1e-12, 1 - 2**-53, 1.0]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("gamma", [0, 1, 2, 7, 40])
def test_expected_tokens_is_the_sum_of_powers(alpha: float, gamma: int) -> None:
    exact = sum((Fraction(alpha) ** i for i in range(gamma + 1)), Fraction(0))
    assert expected_tokens(alpha, gamma) == pytest.approx(float(exact), rel=1e-15)
    assert expected_accepted(alpha, gamma) == pytest.approx(float(exact - 1), rel=4e-15, abs=0)


def test_no_digits_are_lost_as_alpha_nears_1() -> None:
    # 1 - α^(10^6 + 1) is 1e-6 here: to second order E[τ] = n - n(n-1)/2 · (1 - α).
    rest = 2.0**-40
    n = 1_000_001
    third = n * (n - 1) * (n - 2) / 6 * rest**2
    expected = n - n * (n - 1) / 2 * rest + third
    assert expected_tokens(1 - rest, n - 1) == pytest.approx(expected, rel=1e-15)


def test_a_million_drafted_tokens_reach_the_limit() -> None:
    assert expected_tokens(0.9, 10**6) == pytest.approx(unbounded_tokens(0.9), rel=1e-15)
    assert unbounded_tokens([0.0, 0.75, 1.0]).tolist() == [1.0, 4.0, np.inf]


def test_gamma_zero_emits_one_token() -> None:
    assert (expected_tokens(ALPHAS, 0) == 1).all()


def test_a_perfect_draft_emits_gamma_plus_one() -> None:
    assert expected_tokens(1.0, [0, 1, 9]).tolist() == [1, 2, 10]


def test_arguments_broadcast() -> None:
    assert expected_tokens(np.full((3, 1), 0.5), np.arange(4)).shape == (3, 4)
    assert expected_tokens([], 3).shape == (0,)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.97, 1.0])
@pytest.mark.parametrize("gamma", [0, 1, 6])
def test_the_law_of_tau_sums_to_1_with_eq_1_as_its_mean(alpha: float, gamma: int) -> None:
    law = tokens_distribution(alpha, gamma)
    assert law.shape == (gamma + 1,)
    assert law.sum() == pytest.approx(1, abs=1e-15)
    assert law @ np.arange(1, gamma + 2) == pytest.approx(expected_tokens(alpha, gamma), rel=1e-14)


def test_the_law_of_tau_is_that_of_a_capped_run_of_successes() -> None:
    # By enumeration: each of three positions accepted with 0.4, the first failure ends the run.
    assert tokens_distribution(0.4, 3) == pytest.approx([0.6, 0.4 * 0.6, 0.16 * 0.6, 0.064])


def test_laws_of_different_gamma_are_padded_with_zeros() -> None:
    law = tokens_distribution([[0.5], [0.25]], [0, 2])
    assert law.shape == (2, 2, 3)
    assert law[0].tolist() == [[1, 0, 0], [0.5, 0.25, 0.25]]
    assert law[1].tolist() == [[1, 0, 0], [0.75, 0.1875, 0.0625]]


@pytest.mark.parametrize("function", [expected_tokens, expected_accepted, tokens_distribution])
def test_arguments_out_of_range_are_refused(function: object) -> None:
    assert callable(function)
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\], got 1.2"):
        function(1.2, 3)
    with pytest.raises(ValueError, match="gamma must be at least 0, got -1"):
        function(0.5, -1)
    with pytest.raises(ValueError, match=r"gamma must be an integer, got 2.5"):
        function(0.5, 2.5)
    with pytest.raises(ValueError, match="alpha and gamma must have shapes that broadcast"):
        function([0.5, 0.5], [1, 2, 3])
