"""Paired differences: shared errors cancel, and the interval covers nominally."""

import numpy as np
import pytest

from estimator.comparison import paired
from estimator.intervals import left_out


def test_what_both_share_in_a_prompt_is_no_difference() -> None:
    hard = [1.0, 5.0, 2.0, 9.0]
    found = paired("n", (4.25, hard), (5.25, [value + 1 for value in hard]))
    assert found.difference == found.low == found.high == 1
    assert found.distinguishable
    same = paired("n", (4.25, hard), (4.25, hard))
    assert not same.distinguishable


def test_a_single_prompt_has_a_difference_and_no_interval() -> None:
    found = paired("n", (1.0, ()), (3.0, ()))
    assert (found.difference, found.low, found.high) == (2, None, None)
    assert not found.distinguishable


def test_measurements_of_other_numbers_of_prompts_are_refused() -> None:
    with pytest.raises(ValueError, match="n must be of as many prompts in both, got 2 and 3"):
        paired("n", (1.0, (1, 1)), (1.0, (1, 1, 1)))


def test_the_interval_of_means_covers_as_often_as_it_says() -> None:
    """Student's t is exact here; 2000 draws lie within 5 standard errors but for 6e-7."""
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(2000):
        prompts = 10 * random.normal(size=8)
        a, b = prompts + random.normal(size=8), prompts + random.normal(size=8) + 0.3
        found = paired(
            "n",
            (float(a.mean()), (left_out(a) / 7).tolist()),
            (float(b.mean()), (left_out(b) / 7).tolist()),
        )
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.3 <= found.high
    assert abs(covered / 2000 - 0.9) < 5 * np.sqrt(0.9 * 0.1 / 2000)
