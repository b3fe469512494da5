"""A run whose drafts ended early is kept unless the advice is expected to be faster."""

import pytest

from simulator.choice.kept import kept_run
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
