"""Costs from runs at several batch sizes: own runs first, then interpolation, marked and wider."""

import numpy as np
import pytest

from simulator.cost.cost import Cost
from simulator.cost.fitted.by_batch import cost_of_runs, costs_by_batch
from simulator.cost.fitted.runs import LoadPoint, Run


def pair(batch: int, plain: float, drafted: float, context: int = 1000) -> list[Run]:
    """Returns a batch's runs without and with speculation, by their milliseconds a token."""
    load = LoadPoint(context, batch)
    return [
        Run(load, plain / 1e3, error=0.02),
        Run(load, drafted / 1e3, 3, 2.8, error=0.02),
    ]


SMALL, LARGE = pair(1, 7.1, 3.9), pair(32, 12.0, 9.5)


def speed_up(cost: Cost) -> tuple[float, float]:
    """Returns the speed-up at γ 3, and the deviation of its logarithm."""
    assert cost.posterior is not None
    assert cost.point is not None
    law = cost.posterior.speed_ups(cost.point, [3], [2.8])
    return float(np.exp(law.medians[0])), float(law.deviation[0])


def test_each_batch_has_the_cost_of_its_own_runs() -> None:
    found = costs_by_batch([*SMALL, *LARGE])
    assert [cost.setting.batch for cost in found] == [1, 32]
    for cost, runs in zip(found, (SMALL, LARGE), strict=True):
        assert speed_up(cost) == speed_up(cost_of_runs(runs))
        assert cost.setting.load is not None
        assert cost.setting.load.estimated is None


def test_between_two_batches_parameters_follow_the_logarithm_of_the_batch() -> None:
    low, middle, high = costs_by_batch(
        [*pair(4, 8.0, 4.0), *pair(16, 16.0, 8.0)], batches=[4, 8, 16]
    )
    assert middle.setting.load is not None
    assert middle.setting.load.estimated == "between"
    assert middle.baseline_seconds == pytest.approx(
        np.sqrt(low.baseline_seconds * high.baseline_seconds), rel=2e-3
    )
    assert speed_up(middle)[0] == pytest.approx(2.0, rel=0.02)
    assert speed_up(middle)[1] > 1.1 * max(speed_up(low)[1], speed_up(high)[1])


def test_beyond_the_batches_parameters_stay_and_their_doubt_grows() -> None:
    below, last, near, far = costs_by_batch([*pair(4, 7.1, 3.9), *LARGE], batches=[1, 32, 64, 512])
    for cost in (below, near, far):
        assert cost.setting.load is not None
        assert cost.setting.load.estimated == "beyond"
    assert speed_up(near)[0] == pytest.approx(speed_up(last)[0], rel=0.01)
    assert speed_up(last)[1] < speed_up(near)[1] < speed_up(far)[1]


def test_a_batch_without_one_of_its_runs_has_no_cost_and_is_named() -> None:
    (only,) = costs_by_batch([*SMALL, LARGE[1]])
    assert only.setting.batch == 1
    assert only.setting.load is not None
    assert only.setting.load.notes == (
        "Batch 32 has no run without speculation, so it has no speed-up: add the run "
        "gamma=0,batch=32,...",
    )


def test_one_batch_is_planned_from_its_own_runs() -> None:
    (cost,) = costs_by_batch(SMALL[1:])
    assert cost.setting.load is None


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([SMALL[0], LARGE[1]], "no batch was run both with and without speculation. Batch 1 has "
         "no run with speculation"),
        ([*SMALL, *pair(1, 7.0, 4.0, context=9)], "`runs` of several contexts need"),
    ],
)  # fmt: skip
def test_runs_that_give_no_batch_are_refused(runs: list[Run], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        costs_by_batch(runs)


def test_doubt_per_factor_of_the_batch_is_three_times_as_large_beyond_the_runs() -> None:
    """A parameter's deviation: 0.1 per factor e between two batches, 0.3 beyond them."""
    runs = [*pair(4, 8.0, 4.0), *pair(16, 8.0, 4.0)]
    costs = costs_by_batch(runs, batches=[16, 8, 32])
    known, between, beyond = (cost.posterior.covariance[0, 0] for cost in costs)
    assert between - known == pytest.approx((0.1 * np.log(2)) ** 2, abs=1e-9)
    assert beyond - known == pytest.approx((0.3 * np.log(2)) ** 2, abs=1e-9)
