"""Eq. 1 of Leviathan et al. 2023, the law of τ, and the numbers of servers as α and back."""

from fractions import Fraction

import numpy as np
import pytest

from simulator.acceptance.tokens import (
    accepted_fraction,
    alpha_from_accepted_fraction,
    alpha_from_block_efficiency,
    expected_tokens,
    interpolated_alpha,
)
from tests.simulator.iid_process import tokens_law

ALPHAS = [0.0, 1e-300, 1e-9, 0.2, 0.5, 0.8, 0.999, 1 - 1e-8, 1 - 1e-12, 1 - 2**-53, 1.0]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("gamma", [0, 1, 2, 7, 40])
def test_expected_tokens_is_the_sum_of_powers(alpha: float, gamma: int) -> None:
    exact = sum((Fraction(alpha) ** i for i in range(gamma + 1)), Fraction(0))
    assert expected_tokens(alpha, gamma) == pytest.approx(float(exact), rel=1e-15)


def test_no_digits_are_lost_as_alpha_nears_1() -> None:
    # 1 - α^(10^6 + 1) is 1e-6 here: to second order E[τ] = n - n(n-1)/2 · (1 - α).
    rest = 2.0**-40
    n = 1_000_001
    third = n * (n - 1) * (n - 2) / 6 * rest**2
    expected = n - n * (n - 1) / 2 * rest + third
    assert expected_tokens(1 - rest, n - 1) == pytest.approx(expected, rel=1e-15)


def test_drafts_of_any_length_yield_one_over_the_chance_of_a_rejection() -> None:
    """The bound of sections 3.5 and 3.6, 1/(1 - α), which long drafts reach."""
    alpha = np.linspace(0, 0.99, 12)
    tokens = expected_tokens(alpha, np.array([[1], [3], [10], [10**6]]))
    assert (tokens <= 1 / (1 - alpha) * (1 + 1e-15)).all()
    assert tokens[-1] == pytest.approx(1 / (1 - alpha), rel=1e-14)


def test_a_perfect_draft_emits_gamma_plus_one_and_none_emits_one() -> None:
    assert expected_tokens(1.0, [0, 1, 9]).tolist() == [1, 2, 10]
    assert (expected_tokens(ALPHAS, 0) == 1).all()


def test_random_tokens_gain_for_any_target_as_much_as_section_3_6_says() -> None:
    """β ≥ 1/V of a uniform draft, by Theorem 5; so Eq. 1 at 1/V is a guarantee above 1."""
    assert expected_tokens(1 / 9, 3) == pytest.approx((1 - 9.0**-4) / (1 - 1 / 9))
    assert 1 < expected_tokens(1 / 32_000, 5) < 1.0001


def test_arguments_broadcast() -> None:
    assert expected_tokens(np.full((3, 1), 0.5), np.arange(4)).shape == (3, 4)
    assert expected_tokens([], 3).shape == (0,)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.97, 1.0])
@pytest.mark.parametrize("gamma", [0, 1, 6])
def test_the_law_of_tau_sums_to_1_with_eq_1_as_its_mean(alpha: float, gamma: int) -> None:
    law = tokens_law(alpha, gamma)
    assert law.sum() == pytest.approx(1, abs=1e-15)
    assert law @ np.arange(1, gamma + 2) == pytest.approx(expected_tokens(alpha, gamma), rel=1e-14)


RATES = np.array([0.0, 1e-9, 0.01, 0.3, 0.62, 0.9, 0.999, 1 - 1e-9, 1.0])


def test_accepted_fraction_is_the_mean_of_powers_and_alpha_only_at_gamma_1() -> None:
    powers = RATES[:, np.newaxis] ** np.arange(1, 8)
    assert accepted_fraction(RATES, np.array(7)) == pytest.approx(powers.mean(axis=1), rel=1e-14)
    assert accepted_fraction(RATES, np.array(1)) == pytest.approx(RATES, rel=1e-15)
    assert (np.diff(accepted_fraction(np.array(0.8), np.array([1, 2, 4, 8]))) < 0).all()


@pytest.mark.parametrize("gamma", [1, 2, 5, 17, 100])
def test_fraction_and_efficiency_lead_back_to_alpha(gamma: int) -> None:
    assert alpha_from_accepted_fraction(
        accepted_fraction(RATES, np.array(gamma)), gamma
    ) == pytest.approx(RATES, rel=1e-12)
    # 1 + α + … keeps no more than 16 digits of a tiny α.
    assert alpha_from_block_efficiency(expected_tokens(RATES, gamma), gamma) == pytest.approx(
        RATES, rel=1e-12, abs=1e-15
    )


def test_it_meets_measured_points_and_never_exceeds_the_law_between() -> None:
    p, q = np.array([0.6, 0.25, 0.15]), np.array([0.2, 0.3, 0.5])

    def law(lenience: float) -> float:
        return float(np.minimum(p / lenience, q).sum())

    measured = {lenience: law(lenience) for lenience in (1.0, 0.5, 0.75, 0.25)}
    for lenience, alpha in measured.items():
        assert interpolated_alpha(measured, lenience=lenience) == pytest.approx(alpha, rel=1e-12)
    between = np.linspace(0.25, 1, 76)
    estimates = [interpolated_alpha(measured, lenience=lenience) for lenience in between]
    assert all(e <= law(x) + 1e-12 for e, x in zip(estimates, between, strict=True))
    assert np.all(np.diff(estimates) <= 1e-12)
