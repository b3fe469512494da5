"""What servers print, turned into α and back."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from simulator.acceptance.conversions import (
    accepted_fraction,
    alpha_from_accepted_fraction,
    alpha_from_block_efficiency,
    alpha_from_counts,
    conditional_acceptance,
    position_acceptance,
)
from simulator.acceptance.tokens import expected_tokens
from simulator.numerics.bisection import bisect

ALPHAS = np.array([0.0, 1e-9, 0.01, 0.3, 0.62, 0.9, 0.999, 1 - 1e-9, 1.0])


def test_bisection_finds_the_root_of_each_bracket() -> None:
    target = np.array([0.0, 1e-12, 0.25, 0.9, 1.0])
    root = bisect(lambda x: x * x - target, np.zeros(5), np.ones(5))
    assert root == pytest.approx(np.sqrt(target), rel=1e-12, abs=1e-15)


def test_accepted_fraction_is_the_mean_of_powers() -> None:
    powers = ALPHAS[:, np.newaxis] ** np.arange(1, 8)
    assert accepted_fraction(ALPHAS, 7) == pytest.approx(powers.mean(axis=1), rel=1e-14)


def test_accepted_fraction_is_alpha_only_at_gamma_1() -> None:
    assert accepted_fraction(ALPHAS, 1) == pytest.approx(ALPHAS, rel=1e-15)
    assert accepted_fraction(0.8, [1, 2, 4, 8]).tolist() == sorted(
        accepted_fraction(0.8, [1, 2, 4, 8]), reverse=True
    )


@pytest.mark.parametrize("gamma", [1, 2, 5, 17, 100])
def test_fraction_and_efficiency_lead_back_to_alpha(gamma: int) -> None:
    assert alpha_from_accepted_fraction(
        accepted_fraction(ALPHAS, gamma), gamma
    ) == pytest.approx(ALPHAS, rel=1e-12)
    # 1 + α + … keeps no more than 16 digits of a tiny α.
    assert alpha_from_block_efficiency(
        expected_tokens(ALPHAS, gamma), gamma
    ) == pytest.approx(ALPHAS, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("efficiency", "gamma", "message"),
    [
        (0.9, 4, r"block_efficiency must lie in \[1, gamma \+ 1 = 5\], got 0.9"),
        ([2.0, 5.5], 4, r"block_efficiency must lie in \[1, gamma \+ 1 = 5\], got 5.5"),
        (2.5, [4, 1], r"block_efficiency must lie in \[1, gamma \+ 1 = 2\], got 2.5"),
        (float("nan"), 4, "block_efficiency must be finite and at least 0, got nan"),
        (2.0, 0, "gamma must be at least 1, got 0"),
    ],
)
def test_impossible_block_efficiency_is_refused(
    efficiency: ArrayLike, gamma: ArrayLike, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        alpha_from_block_efficiency(efficiency, gamma)


def test_a_fraction_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"accepted_fraction must lie in \[0, 1\], got 1.5"):
        alpha_from_accepted_fraction(1.5, 4)


def test_position_rates_are_unconditional_and_sum_to_the_accepted_tokens() -> None:
    rates = position_acceptance([0.5, 0.9], [2, 4])
    assert rates[0].tolist() == [0.5, 0.25, 0, 0]
    assert rates.sum(axis=1) + 1 == pytest.approx(expected_tokens([0.5, 0.9], [2, 4]))


def test_conditional_rates_are_alpha_at_every_position() -> None:
    assert conditional_acceptance(position_acceptance(0.7, 6)) == pytest.approx(np.full(6, 0.7))
    rates = conditional_acceptance([0.5, 0.0, 0.0])
    assert rates[:2].tolist() == [0.5, 0.0]
    assert np.isnan(rates[2])


def test_rising_position_rates_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must not rise .*, got 0.6 after 0.5"):
        conditional_acceptance([0.5, 0.6])


def test_the_estimate_from_counts_maximises_the_censored_likelihood() -> None:
    # Accepted tokens of ten blocks at γ = 3; those with 3 are cut off, not failures.
    runs = np.array([0, 3, 1, 3, 3, 2, 0, 3, 1, 3])
    accepted, rejected = int(runs.sum()), int((runs < 3).sum())
    alpha = np.linspace(0.001, 0.999, 9981)
    likelihood = accepted * np.log(alpha) + rejected * np.log1p(-alpha)
    estimate = alpha_from_counts(accepted, rejected)
    assert estimate == accepted / (accepted + rejected)
    assert estimate == pytest.approx(alpha[likelihood.argmax()], abs=1e-4)


def test_counts_of_a_simulated_server_give_alpha_back() -> None:
    # 200,000 blocks: the estimate's standard error is under 0.001, and 5 of them false-alarm once
    # in 1.7 million seeds.
    rng = np.random.default_rng(3)
    runs = np.minimum(rng.geometric(1 - 0.7, 200_000) - 1, 5)
    accepted, rejected = runs.sum(), (runs < 5).sum()
    error = np.sqrt(0.7 * 0.3 / (accepted + rejected))
    assert abs(alpha_from_counts(accepted, rejected) - 0.7) < 5 * error
    # Accepted over drafted is something else altogether.
    assert accepted / (5 * 200_000) == pytest.approx(accepted_fraction(0.7, 5), abs=0.005)
    assert accepted / (5 * 200_000) < 0.4


def test_counts_without_a_draft_are_refused() -> None:
    with pytest.raises(ValueError, match=r"accepted . rejected_blocks must be at least 1, got 0"):
        alpha_from_counts(0, 0)
    with pytest.raises(ValueError, match="rejected_blocks must be at least 0, got -1"):
        alpha_from_counts(3, -1)
