"""Plans over many batch sizes: a coarse set, made finer where the advised γ changes."""

from dataclasses import replace
from itertools import pairwise

from served_machines import SERVED

from simulator.acceptance.acceptance import Iid
from simulator.choice.grid import DENSE, PlanRequest, coarse, plans, schedules
from simulator.choice.plan import Plan
from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.machine import LoadPoint
from simulator.cost.fitted.prior import Prior, Traits, published_prior
from simulator.cost.pricing import Load, Pricing, Wall

PRIOR = published_prior(Traits("vllm", "EAGLE"))
WALL = Wall("tokens", 512, "--max-cudagraph-capture-size", "")
FITS = 700


def prices(batches: tuple[int, ...], prior: Prior = PRIOR) -> tuple[Pricing, ...]:
    posterior = infer(SERVED, prior, [])
    return tuple(
        replace(
            Pricing.of_doubt(posterior, LoadPoint(1024, batch)),
            wall=WALL,
            load=Load("made", 1024, "h100", needed_gb=batch, memory_gb=FITS, cost_model="public"),
        )
        for batch in batches
    )


def planned(batches: tuple[int, ...], alpha: float, prior: Prior = PRIOR) -> tuple[Plan, ...]:
    return plans(PlanRequest((Iid(alpha),), prices(batches, prior)))


def test_a_coarse_set_leads_to_the_schedule_of_all_batch_sizes() -> None:
    every, alpha = tuple(range(1, 781, 3)), 0.75
    some = coarse(every)
    assert len(some) < DENSE < len(every)
    request = PlanRequest((Iid(alpha),), prices(some), batches=every, finer=prices)
    assert schedules(plans(request)) == schedules(planned(every, alpha))


def test_a_schedule_changes_gamma_only_where_keeping_it_loses_more_than_one_percent() -> None:
    rows = planned(tuple(range(1, 180)), 0.8)
    (ranges,) = schedules(rows).values()
    assert len(ranges) > 2
    for earlier, later in pairwise(ranges):
        at = rows[later.first_batch - 1]
        means = dict(zip(at.curve.gamma.tolist(), at.curve.gains.mean.tolist(), strict=True))
        kept = means[earlier.gamma] if at.allowed[earlier.gamma - 1] else float("-inf")
        assert kept < max(means[g] for g in at.curve.gamma[at.allowed].tolist()) - 0.01
    for each in ranges:
        for row in rows[each.first_batch - 1 : each.last_batch]:
            assert each.gamma in row.within(0.01)
    # The first batch size has the γ of its own plan.
    assert ranges[0].gamma == planned((1,), 0.8)[0].advised_gamma


def test_the_width_of_an_interval_does_not_switch_speculation_off() -> None:
    """The interval is widest at batch 1, and γ is the same as with little doubt."""
    for wider in (0.01, 1.0, 9.0):
        rows = planned((1, 2, 4, 8), 0.8, replace(PRIOR, covariance=wider * PRIOR.covariance))
        assert [row.advised_gamma for row in rows] == [
            row.advised_gamma for row in planned((1, 2, 4, 8), 0.8)
        ]


def test_no_schedule_crosses_the_captured_graphs() -> None:
    for ranges in schedules(planned(tuple(range(1, 600, 7)), 0.9)).values():
        for each in ranges:
            assert not WALL.crossed(each.last_batch, each.gamma) or each.gamma == 0
