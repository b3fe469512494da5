"""Forecasts: quantiles of draws."""

from statistics import NormalDist

import numpy as np
import pytest

from simulator.numerics.intervals import Forecast, median, with_medians
from simulator.numerics.lattice import DRAWS, WIDE, order_of


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_quantiles_are_those_of_the_draws(count: int) -> None:
    draws = np.random.default_rng(count).normal(size=(count, 3))
    law = Forecast(draws, np.eye(3))
    np.testing.assert_allclose(law.medians, np.median(draws, axis=0))
    for share in (0.001, 0.05, 0.5, 0.8, 0.999):
        known = np.exp(np.quantile(draws, share, axis=0, method="hazen"))
        np.testing.assert_allclose(law.quantile(share), known)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_the_median_is_that_of_numpy(count: int, axis: int) -> None:
    draws = np.random.default_rng(count).normal(size=(3, 4, count))
    before = draws.copy()
    np.testing.assert_array_equal(median(draws, axis), np.median(draws, axis=axis))
    np.testing.assert_array_equal(draws, before)


def test_moved_draws_have_the_stated_medians_and_keep_their_order() -> None:
    draws = np.random.default_rng(0).normal(-0.1, 0.4, size=(201, 3))
    medians = np.array([[-0.5, 0.02, 0.3]])
    moved = with_medians(draws, medians)
    np.testing.assert_allclose(np.median(moved, axis=0), medians[0], atol=1e-12)
    np.testing.assert_array_equal(draws.argsort(axis=0)[100:], moved.argsort(axis=0)[100:])


def test_a_large_loss_does_not_become_a_gain_where_its_median_is_moved() -> None:
    # Half the draws are overloaded, as near the capacity; a median of 0.34 times the speed.
    draws = np.array([[-3.0]] * 50 + [[-1.9]] + [[-0.7]] * 50)
    moved = with_medians(draws, np.log([[0.34]]))
    assert np.median(moved) == pytest.approx(np.log(0.34))
    assert (draws + 1.9 + np.log(0.34) > 0).sum() == 50
    assert not (moved > 0).any()


def test_shared_errors_do_not_change_which_of_two_is_larger() -> None:
    # Both errors of 10 % are shared but for 1 % each, and one quantity is 2 % larger.
    covariance = np.full((2, 2), 0.1**2) + np.diag([0.01**2, 0.01**2])
    law = Forecast.normal(np.log([1.02, 1.0]), covariance)
    draws = np.random.default_rng(0).multivariate_normal(np.log([1.02, 1.0]), covariance, 200_000)
    share = float((draws[:, 0] > draws[:, 1]).mean())
    # Standard error of the share: 0.0007; false alarms: one in 10,000.
    assert law.exceeds_other(0, 1) == pytest.approx(share, abs=0.003)
    assert law.exceeds_other(1, 0) == pytest.approx(1 - law.exceeds_other(0, 1))


def test_exact_quantities_are_ranked_for_certain() -> None:
    law = Forecast.exact(np.log([1.5, 1.2, 1.5]))
    assert (law.exceeds_other(0, 1), law.exceeds_other(1, 0), law.exceeds_other(0, 2)) == (
        1,
        0,
        0.5,
    )


def test_a_small_spread_before_evidence_draws_odds_towards_one_half() -> None:
    law = Forecast.normal(np.log([1.02, 1.0]), 0.01**2 * np.eye(2))
    # Bayes: the difference is normal with variance s² before, and e² around it afterwards.
    error, spread, apart = np.sqrt(2) * 0.01, 0.015, np.log(1.02)
    mean = apart * spread**2 / (spread**2 + error**2)
    deviation = np.sqrt(spread**2 * error**2 / (spread**2 + error**2))
    assert law.exceeds_other(0, 1, spread=spread) == pytest.approx(
        NormalDist().cdf(mean / deviation)
    )
    assert law.exceeds_other(0, 1, spread=spread) < law.exceeds_other(0, 1)


@pytest.mark.parametrize("count", [1, 2, DRAWS, WIDE])
def test_the_order_of_draws_is_that_of_numpy(count: int) -> None:
    draws = np.random.default_rng(count).normal(size=count) ** 3
    draws[0] = 0.0
    np.testing.assert_array_equal(order_of(draws), np.argsort(draws))
    equal = np.zeros(count)
    assert order_of(equal).tolist() == list(range(count))
