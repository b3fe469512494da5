"""The optimal γ of Theorem 8 against brute force and against exact arithmetic."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from simulator.choice.walltime import TIE as RELATIVE_TIE
from simulator.choice.walltime import improvement_factor, optimal_gamma

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
        (1 - 1e-12, 1e-12),
        (1 - 1e-12, 1e-300),
        (1 - 1e-12, 0.5),
        (1 - 1e-12, 0.999),
        (1 - 1e-9, 1 - 1e-8),
        (0.5, 1e-12),
        (0.5, 1e-300),
        (0.5, 5e-324),
        (1e-12, 1e-13),
        (1e-300, 1e-301),
        (1e-300, 5e-324),
        (0.9, 0.9 - 1e-15),
        (1e-3, 1e-320),
        # δ beyond and just below where its logarithm takes over, and K > 745, where W's argument
        # would underflow.
        (0.3, 5e-18),
        (0.3, 5.2e-18),
        (0.1, 3e-3),
    ],
)
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


def test_ties_go_to_the_shorter_draft() -> None:
    # Both γ give 1.25: 1.5/1.2 and 1.75/1.4.
    assert optimal_gamma(0.5, 0.2, max_gamma=9) == 1
    # α = c: γ = 1 gives exactly 1.
    assert optimal_gamma(0.3, 0.3, max_gamma=9) == 0


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
    ],
)
def test_special_pairs(alpha: float, c: float, expected: int) -> None:
    assert optimal_gamma(alpha, c, max_gamma=32) == expected


def test_the_cap_binds() -> None:
    assert optimal_gamma(0.99, 0.001, max_gamma=5) == 5
    assert optimal_gamma(0.99, 0.001, max_gamma=1) == 1


def test_the_result_is_of_integers_and_broadcasts() -> None:
    best = optimal_gamma(np.full((3, 1), 0.8), [0.01, 0.1], max_gamma=32)
    assert best.dtype == np.int64
    assert best.shape == (3, 2)


@pytest.mark.parametrize(
    ("alpha", "c", "max_gamma", "message"),
    [
        (1.2, 0.1, 9, r"alpha must lie in \[0, 1\], got 1.2"),
        (0.5, -0.1, 9, "c must be finite and at least 0, got -0.1"),
        (0.5, 0.1, 0, "max_gamma must be at least 1, got 0"),
        ([0.5, 0.6], [0.1, 0.2, 0.3], 9, "alpha and c must have shapes that broadcast"),
    ],
)
def test_bad_arguments_are_refused(alpha: float, c: float, max_gamma: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        optimal_gamma(alpha, c, max_gamma=max_gamma)
