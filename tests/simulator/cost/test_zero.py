"""A server that drafts nothing and speculates, against one without a draft."""

import itertools
import math
from dataclasses import replace

import pytest

from simulator.acceptance.acceptance import Iid
from simulator.choice.plans import PlanRequest, plans
from simulator.choice.schedule import faster_than_zero, schedules
from simulator.cost.fitted.by_batch import costs_by_batch
from simulator.cost.fitted.runs import Run, measured_zero
from simulator.cost.setting import Load
from simulator.cost.times import Times
from simulator.cost.zero import ReportedZero, SpeculatingZero

ZERO = SpeculatingZero(1.1, 1.05, 1.2, "made")


def idle(tpot: float, batch: int = 1, error: float = 2.0) -> Run:
    return replace(Run.of(0, tpot=tpot, batch=batch, error=error), speculating=True)


def test_the_ratio_is_of_both_runs_at_the_nearest_batch_with_their_errors() -> None:
    runs = [Run.of(0, tpot=10), idle(11.2), Run.of(0, tpot=20, batch=64), idle(25, batch=64)]
    near, far = measured_zero(runs, 3), measured_zero(runs, 200)
    assert near is not None
    assert far is not None
    assert (near.ratio, far.ratio) == pytest.approx((1.12, 1.25))
    reach = 1.6449 * math.hypot(0.02, 0.02)
    assert math.log(near.high / near.ratio) == pytest.approx(reach, rel=1e-4)
    assert math.log(near.ratio / near.low) == pytest.approx(reach, rel=1e-4)
    assert (near.source, far.source) == ("your runs at batch 1", "your runs at batch 64")


def test_runs_of_one_kind_of_zero_give_no_ratio() -> None:
    assert measured_zero([Run.of(0, tpot=10), Run.of(2, tpot=9, length=1.5)], 1) is None
    assert measured_zero([idle(11)], 1) is None
    assert measured_zero([idle(11), Run.of(0, tpot=20, batch=64)], 1) is None


def test_a_marked_run_changes_no_cost() -> None:
    runs = [Run.of(0, tpot=10), Run.of(3, tpot=7, length=2.3)]
    (plain,), (marked,) = costs_by_batch(runs), costs_by_batch([*runs, idle(50)])
    assert marked.baseline_seconds == plain.baseline_seconds
    assert marked.step_seconds == plain.step_seconds
    assert plain.setting.zero is None
    assert marked.setting.zero is not None


def test_reports_are_read_between_their_batches_and_kept_beyond() -> None:
    reports = ReportedZero(((2, 1.1), (200, 1.3)), 1.05, 1.25, "made")
    ratios = [reports.at(batch).ratio for batch in (1, 2, 20, 200, 999)]
    assert ratios == pytest.approx([1.1, 1.1, 1.2, 1.3, 1.3])
    assert (reports.at(20).low, reports.at(999).high) == (1.05, 1.3)


@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.7])
def test_a_schedule_has_the_fastest_of_all_that_one_server_can_do(alpha: float) -> None:
    """Checked against each possible choice: a server that drafts somewhere pays for its zeros."""
    batches = (1, 2, 4, 8, 16)
    for slope, ratio in itertools.product((0.5, 2.0, 8.0), (1.0, 1.1, 1.5)):
        rows = plans(
            PlanRequest(
                (Iid(alpha),),
                tuple(
                    Times(10, 1, verify_ms={4: 10 + slope * batch}).with_setting(
                        batch=batch, load=Load("made", 1024), zero=replace(ZERO, ratio=ratio)
                    )
                    for batch in batches
                ),
                max_gamma=6,
                near=0.0,
            )
        )
        (ranges,) = schedules(rows).values()
        (plain,) = schedules(rows, restarted=True).values()
        for row in rows:
            batch = row.setting.batch
            gains = row.curve.improvement_factor
            alone = int(gains.argmax()) + 1 if gains.max() > 1 else 0
            without = next(r.gamma for r in plain if r.first_batch <= batch <= r.last_batch)
            assert without == alone
            chosen = next(r.gamma for r in ranges if r.first_batch <= batch <= r.last_batch)
            drafts_somewhere = any(r.gamma for r in plain)
            if drafts_somewhere and alone == 0 and gains.max() > 1 / ratio:
                assert chosen == int(gains.argmax()) + 1
            else:
                assert chosen == alone


def test_no_gamma_is_faster_than_a_zero_of_unknown_price() -> None:
    (row,) = plans(PlanRequest((Iid(0.3),), (Times(10, 5),)))
    assert faster_than_zero(row) == set()


def test_speculating_is_refused_beyond_gamma_zero() -> None:
    with pytest.raises(ValueError, match=r"speculating must be given at gamma 0 .*got gamma 3"):
        replace(Run.of(3, tpot=5, length=2), speculating=True)
