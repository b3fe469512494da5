"""Acceptance from accepted lengths of several γ: exact laws, doubts and refusals."""

import numpy as np
import pytest

from simulator.acceptance.from_lengths import length_law
from simulator.acceptance.tokens import expected_tokens


def test_lengths_of_equal_rates_give_them_back() -> None:
    gammas = [1, 3, 7]
    law = length_law({gamma: float(expected_tokens(0.75, gamma)) for gamma in gammas})
    assert law.rates(7) == pytest.approx(np.full(7, 0.75), abs=0.01)
    assert law.acceptance().tokens_per_call(5) == pytest.approx(expected_tokens(0.75, 5), rel=0.01)
    assert law.observed == 7


@pytest.mark.parametrize(
    ("lengths", "gamma", "measured"),
    [
        # Apertus 8B, DSpark, one sequence: published at γ 1 to 7 (docs/roofline.md).
        ({1: 1.886, 7: 4.53}, 3, 3.2721),
        ({1: 1.886, 3: 3.2721}, 5, 4.1841),
        # Qwen3.8 27B, its own head for several tokens: γ 1 to 8.
        ({1: 1.78, 4: 2.89}, 2, 2.32),
        ({2: 2.32, 4: 2.89}, 8, 3.31),
    ],
)
def test_published_lengths_follow_from_others_within_four_percent(
    lengths: dict[int, float], gamma: int, measured: float
) -> None:
    mean, _ = length_law(lengths).log_lengths([gamma])
    assert np.exp(mean[0]) == pytest.approx(measured, rel=0.04)


def test_doubt_grows_away_from_the_runs() -> None:
    law = length_law({3: 2.6})
    _, covariance = law.log_lengths([3, 5, 8, 16])
    deviations = np.sqrt(np.diag(covariance))
    assert (np.diff(deviations) > 0).all()
    assert deviations[0] < 0.011


def test_an_acceptance_of_lengths_has_the_doubt_of_its_law() -> None:
    law = length_law({3: 2.6})
    means, covariance = law.acceptance().log_lengths([3, 8])
    assert (means == law.log_lengths([3, 8])[0]).all()
    assert (covariance == law.log_lengths([3, 8])[1]).all()
    assert law.acceptance().log_lengths([8])[1] > 0


def test_slopes_are_those_of_small_differences() -> None:
    from simulator.acceptance import from_lengths

    law, gammas = np.array([1.1, -0.4]), np.array([1, 4, 9])
    slopes = from_lengths._slopes(law, gammas)
    for index in range(2):
        step = 1e-6 * np.eye(2)[index]
        rise = np.log(from_lengths._tokens(law + step, gammas))
        fall = np.log(from_lengths._tokens(law - step, gammas))
        assert slopes[:, index] == pytest.approx((rise - fall) / 2e-6, rel=1e-5)


@pytest.mark.parametrize(("lengths", "rate"), [({3: 1.0}, 0.0), ({3: 4.0}, 1.0)])
def test_extreme_lengths_are_taken(lengths: dict[int, float], rate: float) -> None:
    assert length_law(lengths).rates(1)[0] == pytest.approx(rate, abs=0.1)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ({}, "lengths must have at least one run's, got none"),
        ({3: 4.2}, r"length must lie in \[1, 4\] at gamma 3, got 4.2"),
        ({0: 1.0}, "gamma must be at least 1, got 0"),
    ],
)
def test_lengths_that_cannot_be_are_refused(lengths: dict[int, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        length_law(lengths)
