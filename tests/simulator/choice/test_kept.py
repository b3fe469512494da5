"""Runs to keep: drafts that ended early, and the fastest K until the advised one was run."""

import pytest

from simulator.acceptance.acceptance import Iid
from simulator.choice.kept import FastestRun, kept_run
from simulator.choice.plan import plan
from simulator.cost.fitted.by_batch import cost_of_runs
from simulator.cost.fitted.runs import LoadPoint, Run

LOAD = LoadPoint(1024)
PLAIN = Run(LOAD, 0.015)
EARLY = Run(LOAD, 0.010, 8, 3.0, drafted=3.3)
WHOLE = Run(LOAD, 0.009, 3, 2.5)


@pytest.mark.parametrize(
    ("expected", "near", "kept"),
    [(0.012, 0.01, True), (0.010, 0.01, True), (0.0099, 0.01, True), (0.0098, 0.01, False)],
)
def test_it_is_kept_until_the_advice_is_faster_by_near(
    expected: float, near: float, kept: bool
) -> None:
    found = kept_run([PLAIN, EARLY], expected=expected, near=near)
    assert (found is not None) is kept


def test_its_gain_is_the_ratio_of_the_two_measured_times() -> None:
    found = kept_run([PLAIN, EARLY], expected=0.012, near=0.01)
    assert found is not None
    assert found.run == EARLY
    assert found.gain == pytest.approx(1.5)


def test_its_gain_is_unknown_without_a_run_at_gamma_zero() -> None:
    found = kept_run([EARLY], expected=0.012, near=0.01)
    assert found is not None
    assert found.gain is None


def test_a_run_of_whole_drafts_has_a_row_of_its_own() -> None:
    assert kept_run([PLAIN, WHOLE], expected=0.012, near=0.01) is None


def fastest_of(*runs: Run, alpha: float = 0.9) -> FastestRun | None:
    return plan(Iid(alpha), cost_of_runs(runs)).fastest_run


def test_the_fastest_run_is_the_one_to_go_back_to_until_the_advised_gamma_was_run() -> None:
    slow, fast = Run(LOAD, 0.011, 1, 1.9), Run(LOAD, 0.009, 2, 2.71)
    planned = plan(Iid(0.9), cost_of_runs([slow, fast]))
    found = planned.fastest_run
    assert found is not None
    assert found.gamma == 2 < planned.advised_gamma == planned.advice.gamma
    assert 0.5 < found.behind < 1
    longer = plan(Iid(0.9), cost_of_runs([PLAIN, slow, fast]))
    assert longer.advice.next_run is not None
    assert longer.fastest_run is not None
    assert longer.advice.next_run.gamma == longer.advised_gamma > 2
    assert longer.advice.next_run.rival == longer.fastest_run.gamma == 2


def test_without_a_gain_the_server_without_speculation_stays() -> None:
    found = fastest_of(PLAIN, Run(LOAD, 0.02, 8, 2.5), alpha=0.6)
    assert found is not None
    assert (found.gamma, found.gain) == (0, 1.0)


@pytest.mark.parametrize(
    ("run", "alpha"),
    [(Run(LOAD, 0.012, 2, 1.75), 0.5), (EARLY, 0.9), (Run(LOAD, 0.003, 2, 2.71), 0.9)],
    ids=["advised", "drafts ended early", "impossible"],
)
def test_no_other_run_stays(run: Run, alpha: float) -> None:
    assert fastest_of(PLAIN, run, alpha=alpha) is None
