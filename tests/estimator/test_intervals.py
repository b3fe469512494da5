"""Intervals cover as often as they say, however few the prompts."""

import numpy as np
import pytest
from numpy.typing import NDArray

from estimator.comparison import paired
from estimator.intervals import (
    degrees_of_freedom,
    difference,
    jackknife_interval,
    left_out,
    rate,
    ratio,
    ratio_interval,
    student,
)

TRIALS = 1000


def covered(
    prompts: int, truth: float, numerators: NDArray[np.float64], denominators: NDArray[np.float64]
) -> int:
    """Returns how many of TRIALS intervals of sums over prompts hold the truth."""
    scale = rate if truth < 1 else ratio
    ends = [
        ratio_interval(above.tolist(), below.tolist(), scale=scale)
        for above, below in zip(
            numerators.reshape(TRIALS, prompts), denominators.reshape(TRIALS, prompts), strict=True
        )
    ]
    return sum(low <= truth <= high for low, high in ends)


@pytest.mark.parametrize("prompts", [4, 8, 24])
def test_intervals_of_speed_ups_cover_as_often_as_they_say(prompts: int) -> None:
    """900 of 1000 intervals should cover; 10,000 trials of this distribution give 898 to 902.

    At 898 fewer than 850 have odds of 7e-7, at 911 (rates of 4 prompts) more than 950 of 1e-6.
    Intervals of 95 % would be found out.
    """
    generator = np.random.default_rng(prompts)
    tokens = generator.integers(20, 65, TRIALS * prompts)
    baseline = tokens * generator.lognormal(0, 0.05, TRIALS * prompts)
    own = baseline / 2 * generator.lognormal(0, 0.3, TRIALS * prompts)
    assert 850 <= covered(prompts, 2 * np.exp(-(0.3**2) / 2), baseline, own) <= 950


@pytest.mark.parametrize("prompts", [4, 8, 24])
def test_intervals_of_alpha_cover_as_often_as_they_say(prompts: int) -> None:
    """Rates vary by prompt around 3/4, and texts in length. The false-alarm odds are 1e-6."""
    generator = np.random.default_rng(prompts)
    tokens = generator.integers(20, 65, TRIALS * prompts)
    accepted = generator.binomial(tokens, generator.beta(6, 2, TRIALS * prompts))
    assert 850 <= covered(prompts, 0.75, accepted.astype(float), tokens.astype(float)) <= 950


@pytest.mark.parametrize("prompts", [4, 8])
def test_texts_of_very_different_lengths_are_as_few_as_they_amount_to(prompts: int) -> None:
    """Lengths spread over two orders of magnitude; what they take a token does not depend on them.

    93.6 and 92.1 % of 10,000 intervals cover, so fewer than 880 of 1000 have odds of 3e-6. With as
    many degrees of freedom as prompts, less one, 83.8 and 82.9 % do.
    """
    generator = np.random.default_rng(prompts)
    tokens = generator.lognormal(4, 1.5, TRIALS * prompts)
    seconds = tokens * generator.lognormal(0, 0.2, TRIALS * prompts)
    assert covered(prompts, np.exp(0.2**2 / 2), seconds, tokens) >= 880


def test_prompts_amount_to_no_more_than_they_are() -> None:
    assert degrees_of_freedom([5.0, 5.0, 5.0, 5.0]) == pytest.approx(3)
    assert degrees_of_freedom([4.0, 4.0, 4.0, 2.0]) == pytest.approx(14**2 / 52 - 1)
    assert degrees_of_freedom([100.0, 1.0]) == 1
    assert degrees_of_freedom([0.0, 0.0]) == 1
    # Sizes of any unit.
    assert degrees_of_freedom([0.2, 0.2, 0.2, 0.2]) == pytest.approx(3)


def test_the_error_of_a_mean_is_the_usual_one() -> None:
    values = np.array([1.0, 2.0, 4.0, 7.0])
    without = (values.sum() - values) / 3
    low, high = jackknife_interval(values.mean(), without, scale=ratio)
    error = values.std(ddof=1) / 2
    # Student's t of 3 degrees of freedom reaches 2.353363 standard errors.
    assert np.log([low, high]) == pytest.approx(
        np.log(3.5) + np.array([-1, 1]) * 2.353363 * error / 3.5, abs=1e-6
    )
    assert student(np.inf) == pytest.approx(1.644854, rel=1e-6)


def test_scales_are_those_of_logarithms_and_of_log_odds() -> None:
    assert ratio(2.0, 0.1, 3.0) == pytest.approx((2 * np.exp(-0.15), 2 * np.exp(0.15)))
    low, high = rate(0.8, 0.02, 3.0)
    slope = 0.06 / (0.8 * 0.2)
    assert np.log(low / (1 - low)) == pytest.approx(np.log(4) - slope)
    assert np.log(high / (1 - high)) == pytest.approx(np.log(4) + slope)
    assert difference(0.5, 0.25, 3.0) == (-0.25, 1.25)


def test_few_prompts_have_wide_intervals_or_none() -> None:
    assert left_out(np.array([1.0, 2.0])).tolist() == [2.0, 1.0]
    assert left_out(np.array([[1.0, 5.0], [2.0, 7.0]])).tolist() == [[2.0, 7.0], [1.0, 5.0]]
    assert left_out(np.array([3.0])).tolist() == [3.0]
    low, high = ratio_interval([1.0, 2.0], [1.0, 1.0])
    assert low is not None
    assert high is not None
    assert low < 1.5 < high
    assert ratio_interval([3.0], [4.0]) == (None, None)
    assert jackknife_interval(1.0, [], scale=ratio) == (None, None)
    # An interval of one value is that value.
    assert ratio_interval([3.0, 6.0, 1.5], [2.0, 4.0, 1.0]) == pytest.approx((1.5, 1.5))
    assert ratio_interval([2.0, 4.0], [2.0, 4.0], scale=rate) == (1.0, 1.0)


def test_at_the_ends_of_its_range_an_interval_ends_with_it() -> None:
    assert ratio(0.0, 0.1, 2.0) == (0.0, 0.2)
    assert rate(0.0, 0.1, 2.0) == (0.0, 0.2)
    assert rate(1.0, 0.1, 2.0) == (0.8, 1.0)
    low, high = rate(0.5, 1e6, 3.0)
    assert 0 < low < high <= 1
    assert np.isfinite(ratio(2.0, 1e6, 3.0)).all()


def test_effects_of_a_prompt_on_both_sides_are_no_difference() -> None:
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
