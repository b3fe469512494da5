"""The measured cost model and the ratio: times of blocks and of the baseline."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from simulator.cost.curves import CostModel

# A 91M-parameter Llama-shaped model on two threads.
MEASURED = CostModel(
    target_seconds={1: 0.033, 2: 0.056, 4: 0.066, 8: 0.075},
    draft_seconds=0.003,
    overhead_seconds=0.001,
    baseline_overhead_seconds=0.0005,
)


def test_verification_is_linear_between_and_beyond_the_points_and_never_falls_beyond() -> None:
    seconds = MEASURED.verify_seconds([1, 2, 3, 4, 6, 8, 10])
    expected = [0.033, 0.056, 0.061, 0.066, 0.0705, 0.075, 0.0795]
    assert seconds == pytest.approx(expected, rel=1e-14)
    assert CostModel({1: 0.02}, 0.001).verify_seconds([1, 5, 100]).tolist() == [0.02] * 3
    assert CostModel({1: 0.02, 3: 0.03}, 0.001).verify_seconds(5) == pytest.approx(0.04)
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

    # A search that found nothing may take time.
    cost = CostModel({1: 0.02}, 0.0, draft_curve={0: 0.004, 2: 0.006})
    assert cost.drafting_seconds([0, 1, 2, 9]) == pytest.approx([0.004, 0.005, 0.006, 0.006])
    gamma = np.arange(9)
    np.testing.assert_array_equal(MEASURED.drafting_seconds(gamma), gamma * 0.003)
