"""Theorems 8 and 10, Corollary 9, the oracle and the best γ of Leviathan et al. 2023."""

from decimal import Decimal, localcontext
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from figures.numbers import published
from simulator.choice.walltime import TIE as RELATIVE_TIE
from simulator.choice.walltime import (
    improvement_factor,
    lower_bound,
    operations_factor,
    optimal_gamma,
    oracle_improvement_factor,
)


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


def test_the_bigram_example_of_section_3_6_and_no_speculation() -> None:
    assert round(float(improvement_factor(0.2, 3, 0)), 2) == 1.25
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


def test_operations_are_counted_one_by_one() -> None:
    # γ = 3 drafts at ĉ and 4 target positions for 1 + α + α² + α³ tokens.
    tokens = 1 + 0.6 + 0.36 + 0.216
    assert operations_factor(0.6, 3, 0.05) == pytest.approx((3 * 0.05 + 4) / tokens, rel=1e-15)


def test_a_perfect_free_draft_wastes_nothing() -> None:
    assert operations_factor(1.0, [0, 1, 30], 0.0) == pytest.approx(1)
    assert operations_factor([0.0, 0.5, 1.0], 0, 7.0) == pytest.approx(1)


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
def test_the_oracle_drafts_only_accepted_tokens_and_pays_for_them(alpha: float, c: float) -> None:
    run = np.arange(2000)
    odds = (1 - alpha) * alpha**run
    factor = (odds @ (run + 1)) / (odds @ (1 + c * run))
    assert oracle_improvement_factor(alpha, c) == pytest.approx(factor, rel=1e-12)


def test_the_oracle_uses_no_draft_dearer_than_the_target_and_a_free_perfect_one_for_ever() -> None:
    assert oracle_improvement_factor([0.3, 0.9, 1.0], [1.0, 1.5, 4.0]).tolist() == [1, 1, 1]
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


# Gains up to 4 roundings count as ties, and are themselves computed with a few.
TIE = Decimal(2) * Decimal(10) ** -15


def last_gain(alpha: float, c: float, gamma: int) -> Decimal:
    """Returns the relative gain of the γ-th drafted token over γ - 1, with 60 digits.

    f(γ)/f(γ-1) - 1 has the sign of α^γ (1 + (γ-1) c) - c (1 - α^γ)/(1 - α), which falls as γ rises,
    so that the smallest maximiser is the last γ of positive sign.
    """
    with localcontext() as context:
        context.prec = 60
        a, cost = Decimal(alpha), Decimal(c)
        price = cost * (1 - a**gamma) / (1 - a)
        return a**gamma * (1 + (gamma - 1) * cost) / price - 1


def assert_exact(alpha: float, c: float) -> None:
    best = int(optimal_gamma(alpha, c, max_gamma=2**53))
    if best > 0:
        assert last_gain(alpha, c, best) > 0
    assert last_gain(alpha, c, best + 1) < TIE


def test_agrees_with_brute_force_on_a_dense_grid() -> None:
    alpha = np.linspace(0, 1, 201)[:, np.newaxis]
    c = np.concatenate([np.linspace(0, 0.1, 41), np.linspace(0.11, 1.2, 44)])
    longest = 64
    factors = np.stack([improvement_factor(alpha, gamma, c) for gamma in range(longest + 1)])
    # The first within rounding of the largest; from 1e-15 to 1e-10 all say the same.
    brute = (factors >= factors.max(axis=0) * (1 - 1e-12)).argmax(axis=0)
    # At c = 0 the last digits say nothing: longer is always better.
    brute = np.where((c == 0) & (alpha > 0), longest, brute)
    np.testing.assert_array_equal(optimal_gamma(alpha, c, max_gamma=longest), brute)


def test_is_exact_on_random_pairs_of_every_magnitude() -> None:
    rng = np.random.default_rng(1)
    for _ in range(1500):
        alpha = 1 - 10 ** rng.uniform(-6, 0) if rng.random() < 0.7 else 10 ** rng.uniform(-30, 0)
        c = alpha * 10 ** rng.uniform(-12, 0)
        assert_exact(float(alpha), float(c))


def test_is_exact_where_optima_run_into_millions() -> None:
    # Here e^u - 1 - u cancels, and the real optimum is off by a few hundredths.
    rng = np.random.default_rng(3)
    for _ in range(200):
        assert_exact(1 - 10 ** rng.uniform(-14.5, -12), rng.uniform(0.2, 0.9))
        assert_exact(1 - int(rng.integers(1, 40)) * 2.0**-53, 1 - 10 ** rng.uniform(-14, -0.1))


@pytest.mark.parametrize(
    ("alpha", "c"),
    [
        *((1 - 1e-12, c) for c in (1e-12, 1e-300, 0.5, 0.999)), (1 - 1e-9, 1 - 1e-8),
        *((0.5, c) for c in (1e-12, 1e-300, 5e-324)), (1e-12, 1e-13), (1e-300, 1e-301),
        (1e-300, 5e-324), (0.9, 0.9 - 1e-15), (1e-3, 1e-320),
        # δ beyond and just below where its logarithm takes over, and K > 745, where W's argument
        # would underflow.
        (0.3, 5e-18), (0.3, 5.2e-18), (0.1, 3e-3),
    ],
)  # fmt: skip
def test_is_exact_where_the_plain_lambert_form_fails(alpha: float, c: float) -> None:
    assert_exact(alpha, c)


def test_the_continuous_optimum_is_the_lambert_form() -> None:
    from scipy.special import lambertw

    rng = np.random.default_rng(2)
    alpha, c = rng.uniform(0.3, 0.99, 2000), rng.uniform(0.01, 0.3, 2000)
    decay = -np.log(alpha)
    k = 1 + decay * (1 / c - 1)
    argument = -np.exp(-k)
    real = (-k - lambertw(argument, -1).real) / decay - 1
    inside = (real > 0) & (k < 700) & (np.abs(real - np.rint(real)) > 1e-6)
    best = optimal_gamma(alpha, c, max_gamma=10**6)
    assert inside.sum() > 1500
    assert ((best == np.floor(real)) | (best == np.floor(real) + 1))[inside].all()


def test_zero_is_where_alpha_exceeds_c_by_no_more_than_rounding() -> None:
    rng = np.random.default_rng(5)
    c = np.concatenate([rng.random(2000), 10 ** rng.uniform(-300, -1, 2000)])
    edge = c * (1 + RELATIVE_TIE)
    assert (optimal_gamma(edge, c, max_gamma=9) == 0).all()
    assert (optimal_gamma(np.nextafter(edge, 1), c, max_gamma=9) > 0).all()
    assert optimal_gamma(0.1 + 0.2, 0.3, max_gamma=9) == 0
    # With α = 1 all lengths up to any cap gain, or none does.
    assert optimal_gamma(1.0, [1 - 2.0**-53, 1 - 2.0**-49], max_gamma=9).tolist() == [0, 9]


@pytest.mark.parametrize(
    ("alpha", "c", "expected"),
    [
        (0.0, 0.0, 0),
        (0.0, 0.1, 0),
        (1.0, 0.1, 32),
        (1.0, 0.0, 32),
        (1.0, 1.0, 0),
        (0.7, 0.0, 32),
        (1e-9, 0.0, 32),
        (0.2, 0.3, 0),
        (0.9, 5.0, 0),
        (0.8, 0.05, 8),
        (0.99, 0.001, 32),  # the cap
        (0.5, 0.2, 1),  # both γ 1 and 2 give 1.25: 1.5/1.2 and 1.75/1.4
        (0.3, 0.3, 0),  # γ = 1 gives exactly 1
    ],
)
def test_special_pairs_ties_and_the_cap(alpha: float, c: float, expected: int) -> None:
    assert optimal_gamma(alpha, c, max_gamma=32) == expected


def test_the_result_is_of_integers_and_broadcasts() -> None:
    best = optimal_gamma(np.full((3, 1), 0.8), [0.01, 0.1], max_gamma=32)
    assert best.dtype == np.int64
    assert best.shape == (3, 2)
