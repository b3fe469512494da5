"""A plan agrees with the formulas worked out longhand, and says None where there is nothing."""

import math

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid
from simulator.cost.cost import Ratio
from simulator.cost.curves import CostModel
from tests.simulator.planned import planned

MEASURED = CostModel(
    target_seconds={1: 0.019, 4: 0.033, 8: 0.060},
    draft_seconds=0.0016,
    overhead_seconds=0.001,
    baseline_overhead_seconds=0.0005,
)


def longhand(alpha: float, gamma: int) -> tuple[float, float, float]:
    """Returns tokens per call, block seconds of MEASURED and the speed-up, term by term."""
    tokens = sum(alpha**i for i in range(gamma + 1))
    n = gamma + 1
    if n <= 4:
        verify = 0.019 + (0.033 - 0.019) * (n - 1) / 3
    else:
        verify = 0.033 + (0.060 - 0.033) * (n - 4) / 4
    seconds = gamma * 0.0016 + verify + 0.001
    return tokens, seconds, tokens * (0.019 + 0.0005) / seconds


def test_theorem8_example_longhand() -> None:
    result = planned(Iid(0.8), Ratio(0.05))
    factors = [
        (1 - 0.8 ** (gamma + 1)) / ((1 - 0.8) * (gamma * 0.05 + 1)) for gamma in range(1, 33)
    ]
    assert result.optimal_gamma == result.gamma == 1 + int(np.argmax(factors)) == 8
    assert result.curve.improvement_factor == pytest.approx(factors, rel=1e-12)
    assert result.improvement_factor == pytest.approx(max(factors), rel=1e-12)
    for name in ("improvement_factor_theorem8", "improvement_factor_iid"):
        assert getattr(result, name) == pytest.approx(max(factors), rel=1e-12)
    assert result.expected_tokens == pytest.approx((1 - 0.8**9) / 0.2, rel=1e-12)
    assert result.memory_access_factor == pytest.approx(0.2 / (1 - 0.8**9), rel=1e-12)
    assert result.operations_factor == pytest.approx(
        0.2 * (8 * 0.05 + 8 + 1) / (1 - 0.8**9), rel=1e-12
    )
    assert result.accepted_fraction == pytest.approx(
        sum(0.8**i for i in range(1, 9)) / 8, rel=1e-12
    )
    assert result.oracle_improvement_factor == pytest.approx(5 / (1 + 0.05 * 4), rel=1e-12)
    assert result.lower_bound == pytest.approx(1.8 / 1.05, rel=1e-12)
    assert result.break_even_alpha == pytest.approx(0.05, rel=1e-9)
    assert result.break_even_c == pytest.approx(0.8, rel=1e-9)
    assert (result.tokens_per_second, result.baseline_tokens_per_second) == (None, None)
    assert not result.cap_binds


def test_measured_costs_longhand() -> None:
    result = planned(Iid(0.8), MEASURED)
    rows = [longhand(0.8, gamma) for gamma in range(1, 33)]
    assert result.curve.expected_tokens == pytest.approx([row[0] for row in rows], rel=1e-12)
    assert result.curve.improvement_factor == pytest.approx([row[2] for row in rows], rel=1e-12)
    best = 1 + int(np.argmax([row[2] for row in rows]))
    assert result.optimal_gamma == best
    tokens, seconds, factor = rows[best - 1]
    assert result.improvement_factor == pytest.approx(factor, rel=1e-12)
    assert result.tokens_per_second == pytest.approx(tokens / seconds, rel=1e-12)
    assert result.baseline_tokens_per_second == pytest.approx(1 / 0.0195, rel=1e-12)
    assert result.c == pytest.approx(0.0016 / 0.019, rel=1e-12)
    assert result.oracle_improvement_factor is None
    assert result.lower_bound is None


def test_break_even_points_under_measured_costs_are_where_no_gamma_gains_any_more() -> None:
    alpha = planned(Iid(0.8), MEASURED).break_even_alpha
    assert alpha is not None
    assert planned(Iid(alpha - 1e-6), MEASURED).optimal_gamma == 0
    assert planned(Iid(alpha + 1e-6), MEASURED).optimal_gamma > 0
    c = planned(Iid(0.8), MEASURED).break_even_c
    assert c is not None
    for factor, gains in ((1 - 1e-6, True), (1 + 1e-6, False)):
        costs = CostModel(
            target_seconds=MEASURED.target_seconds,
            draft_seconds=c * 0.019 * factor,
            overhead_seconds=0.001,
            baseline_overhead_seconds=0.0005,
        )
        assert (planned(Iid(0.8), costs).optimal_gamma > 0) is gains


def test_times_without_a_verification_curve_are_theorem8() -> None:
    times = planned(Iid(0.7), CostModel(target_seconds={1: 0.02}, draft_seconds=0.002))
    ratio = planned(Iid(0.7), Ratio(0.1))
    assert times.curve.improvement_factor == pytest.approx(ratio.curve.improvement_factor)
    for name in ("optimal_gamma", "lower_bound", "oracle_improvement_factor", "break_even_alpha",
                 "break_even_c", "improvement_factor"):  # fmt: skip
        assert getattr(times, name) == pytest.approx(getattr(ratio, name), abs=1e-9)
    assert times.baseline_tokens_per_second == pytest.approx(50)


@pytest.mark.parametrize(
    ("overhead", "baseline_overhead"),
    # With the first Corollary 9 would promise 1.05 where nothing gains; with the second the best
    # gamma gains more than the oracle of Theorem 8.
    [(0.5, 0.0), (0.0, 2.0)],
)
def test_overhead_takes_the_bounds_of_theorem8_away(
    overhead: float, baseline_overhead: float
) -> None:
    cost = CostModel(
        target_seconds={1: 1.0},
        draft_seconds=0.05,
        overhead_seconds=overhead,
        baseline_overhead_seconds=baseline_overhead,
    )
    result = planned(Iid(0.1), cost)
    assert result.lower_bound is None
    assert result.oracle_improvement_factor is None
    assert result.verification_free


@pytest.mark.parametrize(
    ("costs", "free"),
    [
        (Ratio(0.1), True),
        (CostModel({1: 0.02}, 0.001, overhead_seconds=0.005), True),
        (CostModel({1: 0.02, 4: 0.03}, 0.001), False),
    ],
)
def test_verification_is_free_without_a_curve_whatever_the_overhead(
    costs: CostModel, free: bool
) -> None:
    assert planned(Iid(0.8), costs).verification_free is free


@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.2])
def test_gamma_zero_means_the_target_alone(alpha: float) -> None:
    result = planned(Iid(alpha), Ratio(0.2))
    assert result.optimal_gamma == result.gamma == 0
    assert result.accepted_fraction is None
    for name in ("expected_tokens", "improvement_factor", "improvement_factor_theorem8",
                 "operations_factor", "memory_access_factor"):  # fmt: skip
        assert getattr(result, name) == 1
    slow = planned(Iid(alpha), CostModel({1: 0.02, 2: 0.09}, 0.001))
    assert slow.tokens_per_second == slow.baseline_tokens_per_second == 50


def test_a_stated_gamma_is_evaluated_even_past_the_cap() -> None:
    result = planned(Iid(0.8), Ratio(0.05), gamma=40)
    assert (result.optimal_gamma, result.gamma, len(result.curve.gamma)) == (8, 40, 32)
    assert result.improvement_factor == pytest.approx((1 - 0.8**41) / (0.2 * 3), rel=1e-12)


@pytest.mark.parametrize(
    ("alpha", "c", "max_gamma", "binds"),
    [(0.8, 0.05, 8, False), (0.8, 0.05, 7, True), (0.9, 0.0, 32, True), (1.0, 0.5, 4, True),
     (0.1, 0.5, 1, False)],
)  # fmt: skip
def test_the_cap_binds_only_if_a_longer_draft_gains(
    alpha: float, c: float, max_gamma: int, binds: bool
) -> None:
    assert planned(Iid(alpha), Ratio(c), max_gamma=max_gamma).cap_binds is binds


def test_no_alpha_makes_up_for_a_draft_slower_than_its_target() -> None:
    assert planned(Iid(0.9), Ratio(1.5)).break_even_alpha is None
    costs = CostModel(target_seconds={1: 1.0, 2: 3.0}, draft_seconds=0.1)
    assert planned(Iid(0.9), costs).break_even_alpha is None
    assert planned(Iid(0.9), costs).break_even_c is None


def test_a_free_perfect_draft_has_an_infinite_oracle() -> None:
    assert planned(Iid(1.0), Ratio(0.0)).oracle_improvement_factor == math.inf


def test_tokens_per_second_count_the_whole_batch() -> None:
    one, many = (planned(Iid(0.8), MEASURED, batch=batch) for batch in (1, 16))
    assert one.tokens_per_second is not None
    assert many.tokens_per_second == pytest.approx(16 * one.tokens_per_second)
    assert many.improvement_factor == one.improvement_factor


def test_c_hat_takes_the_place_of_c_in_operations_alone() -> None:
    assert planned(Iid(0.8), Ratio(0.1)).c_hat == 0.1
    other = planned(Iid(0.8), Ratio(0.1), c_hat=0.02)
    assert other.c_hat == 0.02
    assert other.improvement_factor == planned(Iid(0.8), Ratio(0.1)).improvement_factor
    assert other.operations_factor < planned(Iid(0.8), Ratio(0.1)).operations_factor
