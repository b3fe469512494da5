"""The measured cost model, and Theorem 8 as a case of it."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from simulator.acceptance.iid import Iid
from simulator.acceptance.tokens import expected_tokens
from simulator.choice import walltime
from simulator.choice.calibrated import (
    calibrated_break_even_alpha,
    calibrated_factor,
    calibrated_optimum,
)
from simulator.choice.gain import break_even_c
from simulator.choice.optimum import optimal_gamma
from simulator.choice.walltime import break_even_alpha, improvement_factor
from simulator.cost.curves import CostModel
from simulator.cost.ratio import Ratio

# A 91M-parameter Llama-shaped model on two threads.
MEASURED = CostModel(
    target_seconds={1: 0.033, 2: 0.056, 4: 0.066, 8: 0.075},
    draft_seconds=0.003,
    overhead_seconds=0.001,
    baseline_overhead_seconds=0.0005,
)


def test_verification_is_linear_between_and_beyond_the_points() -> None:
    seconds = MEASURED.verify_seconds([1, 2, 3, 4, 6, 8, 10])
    expected = [0.033, 0.056, 0.061, 0.066, 0.0705, 0.075, 0.0795]
    assert seconds == pytest.approx(expected, rel=1e-14)


def test_one_point_is_a_flat_curve() -> None:
    assert CostModel({1: 0.02}, 0.001).verify_seconds([1, 5, 100]).tolist() == [0.02] * 3


def test_a_falling_last_segment_is_not_drawn_out() -> None:
    cost = CostModel({1: 0.02, 4: 0.03, 8: 0.028}, 0.001)
    assert cost.verify_seconds([6, 8, 10_000]) == pytest.approx([0.029, 0.028, 0.028])


def test_points_may_come_in_any_order_and_from_json() -> None:
    text = json.dumps(asdict(MEASURED))
    assert CostModel(**json.loads(text)) == MEASURED
    assert CostModel({8: 2.0, 1: 1.0}, 0.1).target_seconds == {1: 1.0, 8: 2.0}


def test_a_block_costs_its_draft_its_verification_and_its_overhead() -> None:
    assert MEASURED.block_seconds(3) == pytest.approx(3 * 0.003 + 0.066 + 0.001)
    assert MEASURED.block_seconds([0, 7]) == pytest.approx([0.034, 0.021 + 0.075 + 0.001])


def test_drafting_is_linear_between_its_points_and_goes_on_by_steady_steps() -> None:
    cost = CostModel({1: 0.02}, 0.003, 0.001, draft_curve={4: 0.010, 2: 0.004})
    assert cost.drafting_seconds([0, 1, 2, 3, 4, 6]) == pytest.approx(
        [0, 0.002, 0.004, 0.007, 0.010, 0.016], rel=1e-14
    )
    assert cost.block_seconds(3) == pytest.approx(0.007 + 0.02 + 0.001, rel=1e-14)
    assert cost.c == pytest.approx(0.15, rel=1e-14)


def test_a_search_that_found_nothing_may_take_time() -> None:
    cost = CostModel({1: 0.02}, 0.0, draft_curve={0: 0.004, 2: 0.006})
    assert cost.drafting_seconds([0, 1, 2, 9]) == pytest.approx([0.004, 0.005, 0.006, 0.006])


def test_without_points_drafting_is_a_line_of_steady_steps() -> None:
    gamma = np.arange(9)
    np.testing.assert_array_equal(MEASURED.drafting_seconds(gamma), gamma * 0.003)


def test_break_even_c_leaves_what_the_first_step_takes_besides_as_it_is() -> None:
    points, curve = {1: 1.0, 2: 1.1, 5: 1.3}, {1: 0.02, 4: 0.23}
    c = break_even_c(Iid(0.7), CostModel(points, 0.07, draft_curve=curve), max_gamma=6)
    for draft_c, gains in ((c * 0.999, True), (c * 1.001, False)):
        steps = {gamma: seconds + gamma * (draft_c - 0.07) for gamma, seconds in curve.items()}
        cost = CostModel(points, draft_c, draft_curve=steps)
        assert (calibrated_optimum(0.7, cost=cost, max_gamma=6) > 0) is np.bool_(gains)


def test_improvement_is_tokens_per_block_over_what_they_cost_the_target_alone() -> None:
    expected = expected_tokens(0.8, 3) * 0.0335 / 0.076
    assert calibrated_factor(0.8, 3, cost=MEASURED) == pytest.approx(expected, rel=1e-14)


def test_gamma_zero_is_the_target_alone() -> None:
    assert calibrated_factor([0.1, 0.9], 0, cost=MEASURED) == pytest.approx(1, rel=1e-15)
    assert MEASURED.baseline_tokens_per_second == pytest.approx(1 / 0.0335)


@pytest.mark.parametrize("c", [0.0, 0.02, 0.3, 1.5])
def test_free_verification_is_theorem_8(c: float) -> None:
    alpha = np.linspace(0, 1, 41)
    cost = Ratio(c)
    assert cost.c == c
    gamma = np.arange(10)[:, np.newaxis]
    factor = improvement_factor(alpha, gamma, c)
    assert calibrated_factor(alpha, gamma, cost=cost) == pytest.approx(factor, rel=1e-14)
    if c > 0:  # at c = 0 the last digits decide
        best = optimal_gamma(alpha, c, max_gamma=50)
        np.testing.assert_array_equal(calibrated_optimum(alpha, cost=cost, max_gamma=50), best)
    assert calibrated_break_even_alpha(cost, max_gamma=50) == pytest.approx(
        float(break_even_alpha(c)), abs=1e-14, nan_ok=True
    )
    for rate in alpha:
        needed = break_even_c(Iid(rate), cost, max_gamma=50)
        assert needed == pytest.approx(float(walltime.break_even_c(rate)), abs=1e-15)


def test_optimal_gamma_under_a_jagged_curve_is_the_best_of_all() -> None:
    rng = np.random.default_rng(4)
    points = {1: 1.0} | {n: float(rng.uniform(0.8, 2.5)) for n in range(2, 18)}
    cost = CostModel(points, draft_seconds=0.05, overhead_seconds=0.02)
    alpha = rng.random(200)
    factors = np.stack([calibrated_factor(alpha, gamma, cost=cost) for gamma in range(17)])
    best = calibrated_optimum(alpha, cost=cost, max_gamma=16)
    np.testing.assert_array_equal(best, factors.argmax(axis=0))


def test_break_even_alpha_parts_gain_from_loss() -> None:
    alpha = calibrated_break_even_alpha(MEASURED, max_gamma=16)
    gamma = np.arange(1, 17)
    assert 0 < alpha < 1
    assert calibrated_factor(alpha - 1e-9, gamma, cost=MEASURED).max() < 1
    assert calibrated_factor(alpha + 1e-9, gamma, cost=MEASURED).max() > 1
    assert calibrated_optimum(alpha - 1e-9, cost=MEASURED, max_gamma=16) == 0
    assert calibrated_optimum(alpha + 1e-9, cost=MEASURED, max_gamma=16) > 0


def test_break_even_c_parts_gain_from_loss() -> None:
    c = float(break_even_c(Iid(0.8), MEASURED, max_gamma=16))
    for draft_c, best in ((c * 0.999, True), (c * 1.001, False)):
        cost = CostModel(
            MEASURED.target_seconds,
            draft_seconds=draft_c * 0.033,
            overhead_seconds=0.001,
            baseline_overhead_seconds=0.0005,
        )
        assert (calibrated_optimum(0.8, cost=cost, max_gamma=16) > 0) is np.bool_(best)


def test_break_even_is_nan_where_nothing_helps() -> None:
    assert np.isnan(break_even_c(Iid(0.0), MEASURED, max_gamma=16))
    assert np.isnan(calibrated_break_even_alpha(CostModel({1: 1.0, 2: 4.0}, 0.1), max_gamma=16))


def test_break_even_alpha_is_0_where_even_a_useless_draft_gains() -> None:
    cost = CostModel({1: 1.0}, 0.1, baseline_overhead_seconds=0.5)
    assert calibrated_break_even_alpha(cost, max_gamma=4) == 0
    assert calibrated_factor(0.0, 1, cost=cost) > 1
    assert calibrated_optimum(0.0, cost=cost, max_gamma=4) > 0


def test_break_even_alpha_is_0_with_a_free_draft_that_alpha_0_leaves_even() -> None:
    cost = CostModel({1: 0.02}, 0.0)
    assert calibrated_break_even_alpha(cost, max_gamma=4) == 0
    assert calibrated_optimum([0.0, 1e-3], cost=cost, max_gamma=4).tolist() == [0, 4]


@pytest.mark.parametrize("cost", [CostModel({1: 1.0}, 1.0), CostModel({1: 1.0, 2: 1.5}, 0.5)])
def test_break_even_alpha_is_1_where_only_a_perfect_draft_breaks_even(cost: CostModel) -> None:
    assert calibrated_break_even_alpha(cost, max_gamma=4) == 1
    assert calibrated_factor(1.0, [1, 2, 3, 4], cost=cost).max() == 1
    assert calibrated_optimum(1.0, cost=cost, max_gamma=4) == 0


def test_break_even_c_is_0_where_only_a_free_draft_breaks_even() -> None:
    # At alpha 0.5 a block of 1 emits 1.5 tokens and verifies them in 1.5.
    cost = CostModel({1: 1.0, 2: 1.5, 3: 4.0}, 0.1)
    assert break_even_c(Iid(0.5), cost, max_gamma=4) == 0
    free = CostModel({1: 1.0, 2: 1.5, 3: 4.0}, 0.0)
    assert calibrated_factor(0.5, [1, 2, 3, 4], cost=free).max() == 1


@pytest.mark.parametrize(
    ("points", "draft", "message"),
    [
        ({2: 0.1}, 0.1, r"target_seconds must have the point 1, got \[2\]"),
        ({}, 0.1, r"target_seconds must have the point 1, got \[\]"),
        ({1: 0.0}, 0.1, r"target_seconds\[1\] must be above 0, got 0"),
        ({1: 0.1, 4: -2.0}, 0.1, r"target_seconds\[4\] must be finite and at least 0, got -2.0"),
        ({1: 0.1, 0: 0.1}, 0.1, "n in target_seconds must be at least 1, got 0"),
        ({1: 0.1}, -0.1, "draft_seconds must be finite and at least 0, got -0.1"),
        ({1: 0.1}, float("nan"), "draft_seconds must be finite and at least 0, got nan"),
    ],
)
def test_bad_costs_are_refused(points: dict[int, float], draft: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CostModel(points, draft)


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        ({-1: 0.1}, "gamma in draft_curve must be at least 0, got -1"),
        ({2: -0.1}, r"draft_curve\[2\] must be finite and at least 0, got -0.1"),
    ],
)
def test_bad_draft_curves_are_refused(curve: dict[int, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CostModel({1: 1.0}, 0.1, draft_curve=curve)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"c must be finite and at least 0, got -1.0"):
        Ratio(-1)
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        MEASURED.verify_seconds(0)
    with pytest.raises(ValueError, match="gamma must be at least 0, got -1"):
        MEASURED.checking_seconds(-1)
    with pytest.raises(ValueError, match="gamma must be at least 0, got -1"):
        MEASURED.drafting_seconds(-1)
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\], got 2.0"):
        calibrated_optimum(2, cost=MEASURED, max_gamma=4)
    with pytest.raises(ValueError, match="max_gamma must be at least 1, got 0"):
        calibrated_break_even_alpha(MEASURED, max_gamma=0)
