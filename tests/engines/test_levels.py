"""A machine's changing speed divided out of what ran on it turn by turn."""

import numpy as np
import pytest

from engines.trials.levels import levels

TRUE = {"alone": 1.3, "short": 3.5, "long": 7.2}


def seconds(generator: np.random.Generator, *, turns: int, noise: float) -> dict[str, list[float]]:
    """Returns times at speeds that change by turn, up to twofold."""
    speeds = generator.uniform(1, 2, turns)
    return {
        cell: (level * speeds * np.exp(generator.normal(0, noise, turns))).tolist()
        for cell, level in TRUE.items()
    }


def test_speeds_of_turns_leave_no_trace_in_ratios() -> None:
    found = levels(seconds(np.random.default_rng(0), turns=9, noise=0.0))
    assert found["long"] / found["alone"] == pytest.approx(7.2 / 1.3)
    assert found["short"] / found["alone"] == pytest.approx(3.5 / 1.3)


def test_levels_are_those_of_the_median_speed() -> None:
    assert levels({"a": [1.0, 2.0, 4.0], "b": [3.0, 6.0, 12.0]}) == pytest.approx(
        {"a": 2.0, "b": 6.0}
    )
    assert levels({"a": [5.0]}) == pytest.approx({"a": 5.0})


def test_what_held_up_one_text_moves_nothing() -> None:
    rows = seconds(np.random.default_rng(1), turns=25, noise=0.01)
    rows["short"][3] *= 30
    found = levels(rows)
    # The noise of a median of 25 at 1 %, four standard errors of the two.
    assert found["short"] / found["alone"] == pytest.approx(3.5 / 1.3, rel=0.015)


def test_a_turn_that_lacks_a_cell_counts_for_the_others() -> None:
    found = levels({"a": [1.0, 1.0, 9.0], "b": [2.0, 2.0, np.nan]})
    assert found == pytest.approx({"a": 1.0, "b": 2.0})
