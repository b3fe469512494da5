"""Texts of finite length: against the plain recursion, its limit and its cap."""

from functools import cache

import numpy as np
import pytest

from simulator.acceptance.tokens import tokens_distribution
from simulator.choice.calibrated import calibrated_factor
from simulator.choice.walltime import improvement_factor
from simulator.cost.curves import CostModel
from simulator.cost.ratio import Ratio
from simulator.monte_carlo.finite import finite_calls, finite_improvement_factor, finite_seconds

COST = CostModel({1: 1.0, 2: 1.5, 5: 1.7, 9: 2.5}, 0.1, 0.05, 0.02)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9, 0.9999, 1.0])
@pytest.mark.parametrize("gamma", [0, 1, 3, 10])
@pytest.mark.parametrize("length", [1, 2, 4, 5, 40])
def test_time_is_the_mean_over_the_law_of_each_block(
    alpha: float, gamma: int, length: int
) -> None:
    @cache
    def seconds(n: int) -> float:
        if n == 0:
            return 0.0
        drafted = min(gamma, n - 1)
        law = tokens_distribution(alpha, drafted)
        later = sum(odds * seconds(n - tokens) for tokens, odds in enumerate(law, start=1))
        return float(COST.block_seconds(drafted) + later)

    replayed = finite_seconds(alpha, gamma, cost=COST, length=length)
    assert replayed == pytest.approx(seconds(length), rel=1e-12)


def test_long_texts_reach_theorem_8() -> None:
    alpha = np.linspace(0, 0.99, 12)
    factor = finite_improvement_factor(alpha, 5, cost=Ratio(0.05), length=20_000)
    assert factor == pytest.approx(improvement_factor(alpha, 5, 0.05), rel=1e-3)


def test_longer_texts_come_closer() -> None:
    factor = finite_improvement_factor(0.8, 5, cost=COST, length=[10, 100, 1000])
    assert (np.diff(np.abs(factor - calibrated_factor(0.8, 5, cost=COST))) < 0).all()


def test_the_factor_is_capped_by_the_number_of_tokens() -> None:
    free = Ratio(0)
    length = np.arange(1, 30)
    assert finite_improvement_factor(1.0, 40, cost=free, length=length) == pytest.approx(length)
    for alpha in (0.5, 0.99):
        factor = finite_improvement_factor(alpha, 40, cost=free, length=length)
        assert (factor <= length + 1e-12).all()


def test_one_token_gains_nothing() -> None:
    assert finite_improvement_factor(0.9, 4, cost=Ratio(0.1), length=1) == 1


def test_prefill_is_paid_twice_by_speculation() -> None:
    seconds = finite_seconds(0.7, 3, cost=COST, length=20)
    factor = finite_improvement_factor(
        0.7, 3, cost=COST, length=20, target_prefill_seconds=4.0, draft_prefill_seconds=0.5
    )
    assert factor == pytest.approx((4 + 20 * 1.02) / (4 + 0.5 + seconds))
    assert factor < finite_improvement_factor(0.7, 3, cost=COST, length=20)


def test_gamma_zero_is_no_speculation() -> None:
    assert finite_calls(0.5, 0, length=9) == 9
    factor = finite_improvement_factor(
        0.5, [0, 0], cost=COST, length=9, draft_prefill_seconds=3.0
    )
    assert factor.tolist() == [1, 1]


def test_arguments_broadcast() -> None:
    calls = finite_calls([[0.5], [0.9]], [1, 2, 3], length=[10, 20, 30])
    assert calls.shape == (2, 3)
    assert calls[1, 2] == pytest.approx(finite_calls(0.9, 3, length=30), rel=1e-14)


@pytest.mark.parametrize(
    ("arguments", "length", "message"),
    [
        ((1.5, 2), 3, r"alpha must lie in \[0, 1\], got 1.5"),
        ((0.5, -2), 3, "gamma must be at least 0, got -2"),
        ((0.5, 2), 0, "length must be at least 1, got 0"),
        (([0.5, 0.5], 2), [1, 2, 3], "alpha and gamma and length must have shapes"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: tuple[float, int], length: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        finite_calls(*arguments, length=length)


def test_negative_prefill_is_refused() -> None:
    with pytest.raises(ValueError, match="draft_prefill_seconds must be finite and at least 0"):
        finite_improvement_factor(0.5, 2, cost=COST, length=3, draft_prefill_seconds=-1)
