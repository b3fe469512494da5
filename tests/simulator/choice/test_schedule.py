"""Plans of a grid, and the schedules of γ that follow from them."""

from dataclasses import replace
from itertools import pairwise

import pytest

from simulator.acceptance.acceptance import Iid
from simulator.choice.curve import speed_up
from simulator.choice.plan import Plan
from simulator.choice.plans import PlanRequest, plans
from simulator.choice.schedule import (
    DENSE,
    Range,
    by_context,
    coarse,
    last_paying_batch,
    middles,
    schedule,
    schedules,
)
from simulator.cost.cost import Cost, Ratio
from simulator.cost.fitted.fit import ParametricCost, infer
from simulator.cost.fitted.prior import Prior, Traits, published_prior
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.setting import Load, Wall
from simulator.cost.times import Times
from tests.simulator import planned as single
from tests.simulator.served_machines import SERVED

PRIOR = published_prior(Traits("vllm", "EAGLE"))
WALL = Wall("tokens", 512, "--max-cudagraph-capture-size", "")
FITS = 700


def costs(batches: tuple[int, ...], prior: Prior = PRIOR) -> tuple[Cost, ...]:
    posterior = infer(SERVED, prior, [])
    return tuple(
        ParametricCost(posterior, LoadPoint(1024, batch)).with_setting(
            wall=WALL,
            load=Load("made", 1024, "h100", needed_gb=batch, memory_gb=FITS, cost_model="public"),
        )
        for batch in batches
    )


def planned(batches: tuple[int, ...], alpha: float, prior: Prior = PRIOR) -> tuple[Plan, ...]:
    return plans(PlanRequest((Iid(alpha),), costs(batches, prior)))


def test_a_coarse_set_leads_to_the_schedule_of_all_batch_sizes() -> None:
    every, alpha = tuple(range(1, 781, 3)), 0.75
    some = coarse(every)
    assert len(some) < DENSE < len(every)
    asked = PlanRequest((Iid(alpha),), costs(some), finer=lambda rows: costs(middles(rows, every)))
    assert schedules(plans(asked)) == schedules(planned(every, alpha))


def test_a_schedule_changes_gamma_only_where_keeping_it_loses_more_than_one_percent() -> None:
    rows = planned(tuple(range(1, 180)), 0.8)
    (ranges,) = schedules(rows).values()
    assert len(ranges) > 2
    for earlier, later in pairwise(ranges):
        at = rows[later.first_batch - 1]
        means = dict(zip(at.curve.gamma.tolist(), at.curve.gains.medians.tolist(), strict=True))
        kept = means[earlier.gamma] if at.allowed[earlier.gamma - 1] else float("-inf")
        assert kept < max(means[g] for g in at.curve.gamma[at.allowed].tolist()) - 0.01
    for each in ranges:
        for row in rows[each.first_batch - 1 : each.last_batch]:
            assert each.gamma in row.within(0.01)
    # The first batch size has the γ of its own plan.
    assert ranges[0].gamma == planned((1,), 0.8)[0].advised_gamma


def test_the_width_of_an_interval_does_not_switch_speculation_off() -> None:
    """The interval is widest at batch 1, and γ is practically the γ of little doubt."""
    for wider in (0.01, 1.0, 9.0):
        rows = planned((1, 2, 4, 8), 0.8, replace(PRIOR, covariance=wider * PRIOR.covariance))
        for row, usual in zip(rows, planned((1, 2, 4, 8), 0.8), strict=True):
            assert abs(row.advised_gamma - usual.advised_gamma) <= 1


def test_no_schedule_crosses_the_captured_graphs() -> None:
    for ranges in schedules(planned(tuple(range(1, 600, 7)), 0.9)).values():
        for each in ranges:
            assert not WALL.crossed(each.last_batch, each.gamma) or each.gamma == 0


def test_a_range_has_sizes_that_draft_alike_and_those_before_the_larger() -> None:
    assert schedule({1: 4, 2: 4, 3: 2, 4: 0}) == (Range(1, 2, 4), Range(3, 3, 2), Range(4, 4, 0))
    assert schedule({32: 1, 4: 4, 8: 2}) == (Range(1, 4, 4), Range(5, 8, 2), Range(9, 32, 1))
    ranges = schedule({1: 0, 3: 5, 7: 5, 20: 1})
    sizes = [b for each in ranges for b in range(each.first_batch, each.last_batch + 1)]
    assert sizes == list(range(1, 21))


def test_a_gamma_goes_on_while_it_is_near_the_best() -> None:
    near = {1: {4, 5}, 2: {3, 4}, 3: {3, 4}, 4: {2, 3}}
    assert schedule({1: 4, 2: 3, 3: 3, 4: 2}, near) == (Range(1, 3, 4), Range(4, 4, 2))
    assert schedule({1: 4, 2: 3, 3: 3, 4: 2}) == (Range(1, 1, 4), Range(2, 3, 3), Range(4, 4, 2))


def test_speculation_stops_paying_after_the_last_range_that_drafts() -> None:
    assert last_paying_batch(schedule({4: 4, 8: 2, 32: 0})) == 8
    assert last_paying_batch(schedule({4: 0})) is None


@pytest.mark.parametrize("multiple", [1, 2, 3, 5])
def test_the_best_gamma_is_the_best_of_those_that_can_be(multiple: int) -> None:
    acceptance, cost = Iid(0.8), Ratio(0.1)
    possible = [g for g in range(1, 17) if g <= multiple or g % multiple == 0]
    best = max(possible, key=lambda g: float(speed_up(acceptance, cost, g)))
    found = single.planned(acceptance, cost, max_gamma=16, multiple=multiple)
    assert found.optimal_gamma == best
    assert found.gamma_near in possible
    assert not found.cap_binds


def test_the_cap_binds_where_the_next_multiple_is_better() -> None:
    assert single.planned(Iid(0.95), Ratio(0.01), max_gamma=8, multiple=3).optimal_gamma == 6
    assert single.planned(Iid(0.95), Ratio(0.01), max_gamma=8, multiple=3).cap_binds


@pytest.mark.parametrize(("asked", "gamma"), [(None, 5), (2, 2)])
def test_a_plan_is_of_the_gamma_that_its_draft_states(asked: int | None, gamma: int) -> None:
    cost = Ratio(0.3).with_setting(usual_gamma=5)
    (row,) = plans(PlanRequest((Iid(0.5),), (cost,), gamma=asked))
    assert row.gamma == gamma
    assert row.optimal_gamma == 1


def test_contexts_keep_a_gamma_while_it_is_near_the_best() -> None:
    def at(context: int, slope: float, *, fits: bool = True) -> Cost:
        load = Load("made", context, needed_gb=1 if fits else 9, memory_gb=5)
        return Times(10, 1, verify_ms={9: 10 + slope}).with_setting(load=load)

    alike, steep = (at(1024, 1), at(4096, 1.01)), at(9000, 40)
    rows = plans(PlanRequest((Iid(0.8),), (*alike, steep, at(20_000, 40, fits=False))))
    near, far = rows[0].advised_gamma, rows[2].advised_gamma
    assert near > far > 0
    assert by_context(rows) == {1: [(4096, near), (9000, far)]}
    assert by_context(rows[:1]) == {}


def test_contexts_of_each_batch_are_apart() -> None:
    rows = plans(
        PlanRequest(
            (Iid(0.8),),
            tuple(
                Times(10, 1).with_setting(batch=batch, load=Load("made", context))
                for batch in (1, 8)
                for context in (100, 200)
            ),
        )
    )
    gamma = rows[0].advised_gamma
    assert by_context(rows) == {1: [(200, gamma)], 8: [(200, gamma)]}
    assert by_context(rows, only=2) == {1: [(200, 2)], 8: [(200, 2)]}
