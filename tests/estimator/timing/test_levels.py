"""The machine's changing speed is divided out of runs in turns."""

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from estimator.timing.levels import polish

ALONE, SHORT, LONG = TRUE = (1.3, 3.5, 7.2)


def levels(seconds: ArrayLike) -> NDArray[np.float64]:
    return polish(seconds)[0]


def seconds(generator: np.random.Generator, *, turns: int, noise: float) -> NDArray[np.float64]:
    """Returns times at speeds that change by turn, up to twofold, shape (3, turns)."""
    speeds = generator.uniform(1, 2, turns)
    return np.outer(TRUE, speeds) * np.exp(generator.normal(0, noise, (3, turns)))


def test_speeds_of_turns_leave_no_trace_in_ratios() -> None:
    alone, short, long = levels(seconds(np.random.default_rng(0), turns=9, noise=0.0))
    assert (long / alone, short / alone) == pytest.approx((LONG / ALONE, SHORT / ALONE))


def test_levels_are_those_of_the_median_speed() -> None:
    assert levels([[1.0, 2.0, 4.0], [3.0, 6.0, 12.0]]) == pytest.approx([2.0, 6.0])
    assert levels([[5.0]]) == pytest.approx([5.0])


def test_speeds_are_told_beside_the_median_one() -> None:
    _, speeds = polish([[1.0, 2.0, 4.0, np.nan], [3.0, 6.0, 12.0, np.nan]])
    assert speeds[:3] == pytest.approx([0.5, 1.0, 2.0])
    assert np.isnan(speeds[3])


def test_what_held_up_one_text_moves_nothing() -> None:
    rows = seconds(np.random.default_rng(1), turns=25, noise=0.01)
    rows[1, 3] *= 30
    alone, short, _ = levels(rows)
    # The noise of a median of 25 at 1 %, four standard errors of the two.
    assert short / alone == pytest.approx(SHORT / ALONE, rel=0.015)


def test_a_turn_that_lacks_a_thing_counts_for_the_others() -> None:
    assert levels([[1.0, 1.0, 9.0], [2.0, 2.0, np.nan]]) == pytest.approx([1.0, 2.0])


def test_several_tables_are_polished_each_on_its_own() -> None:
    tables = np.stack([seconds(np.random.default_rng(n), turns=7, noise=0.1) for n in range(3)])
    np.testing.assert_array_equal(levels(tables), [levels(table) for table in tables])
