"""The best γ under load, and where speculation ends."""

import numpy as np
import pytest

from simulator.choice.batching import last_gaining_batch, measured_costs, plan_batches
from simulator.choice.calibrated import calibrated_factor
from simulator.choice.operations import operations_factor
from simulator.choice.walltime import improvement_factor
from simulator.cost.curves import CostModel
from simulator.cost.ratio import Ratio


def compute_bound(batch: int, *, capacity: int = 32) -> CostModel:
    """Verification is free up to `capacity` tokens in all, then paid by the token; drafts free."""
    return CostModel(
        target_seconds={n: max(1.0, batch * n / capacity) for n in range(1, 40)}, draft_seconds=0.0
    )


def test_one_sequence_is_theorem_8() -> None:
    (plan,) = plan_batches({1: Ratio(0.05)}, alpha=0.8, max_gamma=16)
    factors = improvement_factor(0.8, np.arange(1, 17), 0.05)
    assert plan.gamma == 1 + int(factors.argmax()) == 8
    assert plan.improvement_factor == pytest.approx(float(factors.max()))
    assert plan.tokens_per_second == pytest.approx(plan.improvement_factor)
    assert plan.baseline_tokens_per_second == 1


def test_throughput_counts_all_sequences() -> None:
    (plan,) = plan_batches({64: Ratio(0.05)}, alpha=0.8, max_gamma=16)
    assert plan.baseline_tokens_per_second == 64
    assert plan.tokens_per_second == pytest.approx(64 * plan.improvement_factor)


def test_gamma_shrinks_to_nothing_as_the_batch_fills_the_hardware() -> None:
    costs = {batch: compute_bound(batch) for batch in (1, 2, 4, 8, 16, 32, 64)}
    gammas = [plan.gamma for plan in plan_batches(costs, alpha=0.7, max_gamma=32)]
    assert gammas == sorted(gammas, reverse=True)
    assert gammas[0] > 10
    assert gammas[-2:] == [0, 0]


def test_a_full_machine_loses_what_theorem_10_says_is_wasted() -> None:
    # All time is arithmetic, so the slow-down of a fixed γ is the increase in operations.
    factor = float(calibrated_factor(0.7, 4, cost=compute_bound(1000)))
    assert factor == pytest.approx(1 / float(operations_factor(0.7, 4, 0.0)))
    assert 1 / factor == pytest.approx(1.80, abs=0.005)


@pytest.mark.parametrize("gamma", [1, 3, 8])
def test_the_last_gaining_batch_separates_gain_from_loss(gamma: int) -> None:
    costs = {batch: compute_bound(batch) for batch in range(1, 65)}
    last = last_gaining_batch(costs, alpha=0.7, min_gamma=gamma, max_gamma=gamma)
    assert last is not None
    assert calibrated_factor(0.7, gamma, cost=costs[last]) > 1
    assert all(calibrated_factor(0.7, gamma, cost=costs[b]) <= 1 for b in range(last + 1, 65))


def test_free_choice_of_gamma_lasts_at_least_as_long_as_a_fixed_one() -> None:
    costs = {batch: compute_bound(batch) for batch in range(1, 65)}
    free = last_gaining_batch(costs, alpha=0.7, max_gamma=8)
    fixed = [
        last_gaining_batch(costs, alpha=0.7, min_gamma=gamma, max_gamma=gamma)
        for gamma in range(1, 9)
    ]
    assert free == max(batch for batch in fixed if batch is not None)


def test_no_batch_gains_with_a_draft_that_is_never_right() -> None:
    assert last_gaining_batch({1: Ratio(0.0)}, alpha=0.0, max_gamma=8) is None


@pytest.mark.parametrize("unit", [1.0, 0.02])
def test_no_batch_gains_where_every_draft_at_best_breaks_even(unit: float) -> None:
    """The plan of such a batch is not to speculate, whatever rounding makes of its factor of 1."""
    for alpha in np.linspace(0.01, 0.99, 99).tolist():
        costs = {1: CostModel({1: unit}, unit * alpha)}
        assert plan_batches(costs, alpha=alpha, max_gamma=32)[0].gamma == 0
        assert last_gaining_batch(costs, alpha=alpha, max_gamma=32) is None


def test_measured_times_make_one_cost_model_for_each_batch() -> None:
    costs = measured_costs(
        {(1, 1): 10.0, (1, 5): 11.0, (8, 1): 12.0, (8, 5): 24.0},
        draft_seconds={1: 1.0, 8: 1.5},
        overhead_seconds=0.5,
    )
    assert list(costs) == [1, 8]
    assert float(costs[8].block_seconds(4)) == 4 * 1.5 + 24 + 0.5
    plans = plan_batches(costs, alpha=0.6, max_gamma=4)
    assert [plan.batch for plan in plans] == [1, 8]
    assert plans[0].gamma > plans[1].gamma


def test_measured_batch_sizes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"batch sizes of target_seconds \[1, 8\], got \[1\]"):
        measured_costs({(1, 1): 1.0, (8, 1): 1.0}, draft_seconds={1: 0.1})


def test_a_batch_without_the_point_of_one_token_is_refused() -> None:
    with pytest.raises(ValueError, match="target_seconds must have the point 1"):
        measured_costs({(4, 2): 1.0}, draft_seconds={4: 0.1})


def test_no_batch_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one batch size"):
        plan_batches({}, alpha=0.5, max_gamma=4)


def test_alpha_out_of_range_is_refused() -> None:
    costs = {1: Ratio(0.1)}
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\], got 1.2"):
        last_gaining_batch(costs, alpha=1.2, max_gamma=4)
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\], got nan"):
        plan_batches(costs, alpha=float(np.nan), max_gamma=4)
