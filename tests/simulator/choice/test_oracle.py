"""The oracle of Leviathan et al. 2023, §3.5, and what it gains over the best fixed γ."""

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from simulator.choice.walltime import improvement_factor, optimal_gamma, oracle_improvement_factor

# The gain stays below it and comes as near as one likes: for α → 1 with c = (1 - α)/(e - 2), where
# the best γ is 1/(1 - α).
SUPREMUM = np.e / (np.e - 1)


def gain(alpha: ArrayLike, c: ArrayLike) -> NDArray[np.float64]:
    """Returns how many times faster the oracle is than the best fixed γ: below SUPREMUM.

    Where c ≥ 1 it is 1. Else let m = 1/(1 - α): the oracle drafts m - 1 tokens on average and emits
    m. With k the integer part of m - 1 and θ the rest, blocks that draft k + 1 tokens with
    probability θ, and k otherwise, cost on average what the oracle's do and yield, of its tokens,
    the share

        1 - α^(k+1) (1 - θ/m) > 1 - e^(-(k+1)/m) e^(-θ/m) = 1 - 1/e

    (as α = 1 - 1/m, and 1 - x < e^-x). The better of the two fixed lengths is no slower than their
    mixture.
    """
    best = improvement_factor(alpha, optimal_gamma(alpha, c, max_gamma=10**12), c)
    return oracle_improvement_factor(alpha, c) / best


@pytest.mark.parametrize(("alpha", "c"), [(0.0, 0.3), (0.5, 0.0), (0.8, 0.05), (0.9, 0.7)])
def test_the_oracle_drafts_what_will_be_accepted_and_pays_for_it(alpha: float, c: float) -> None:
    run = np.arange(2000)
    odds = (1 - alpha) * alpha**run
    factor = (odds @ (run + 1)) / (odds @ (1 + c * run))
    assert oracle_improvement_factor(alpha, c) == pytest.approx(factor, rel=1e-12)


def test_the_oracle_does_not_use_a_draft_dearer_than_the_target() -> None:
    assert oracle_improvement_factor([0.3, 0.9, 1.0], [1.0, 1.5, 4.0]).tolist() == [1, 1, 1]


def test_a_perfect_free_draft_is_unbounded() -> None:
    assert oracle_improvement_factor(1.0, [0.0, 0.25]).tolist() == [np.inf, 4]


def test_the_gain_that_the_paper_puts_at_up_to_60_percent() -> None:
    # Within the range of its own experiments, α from .5 to .9 and c up to .05, it is 47.5 %.
    alpha, c = np.linspace(0.5, 0.9, 201)[:, np.newaxis], np.linspace(0, 0.05, 101)
    fixed = improvement_factor(alpha, optimal_gamma(alpha, c, max_gamma=10_000), c)
    assert round(float((oracle_improvement_factor(alpha, c) / fixed).max()), 3) == 1.475


def test_the_largest_gain_of_all_is_58_percent() -> None:
    assert pytest.approx(1.58, abs=0.005) == SUPREMUM
    found = gain(1 - np.logspace(-9, 0, 300)[:, np.newaxis], np.logspace(-10, 0.1, 500))
    assert (found < SUPREMUM).all()
    assert (found >= 1 - 1e-12).all()
    rest = 1e-8
    assert gain(1 - rest, rest / (np.e - 2)) == pytest.approx(SUPREMUM, rel=1e-7)


def test_one_of_two_lengths_next_to_the_oracles_mean_already_keeps_the_bound() -> None:
    """The step that the proof of the bound rests on, for any real 1/(1 - α)."""
    rng = np.random.default_rng(0)
    alpha = 1 - 10 ** rng.uniform(-6, 0, 20_000)
    c = np.minimum(10 ** rng.uniform(-8, 0, 20_000), 1 - 1e-9)
    shorter = np.floor(alpha / (1 - alpha))
    fixed = np.maximum(*(improvement_factor(alpha, shorter + more, c) for more in (0, 1)))
    found = oracle_improvement_factor(alpha, c) / fixed
    assert (found < SUPREMUM).all()
    assert found.max() > 0.999 * SUPREMUM


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\], got -0.1"):
        oracle_improvement_factor(-0.1, 0.1)
