"""Forecasts: quantiles of draws."""

import numpy as np
import pytest

from simulator.numerics.intervals import Forecast, median


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
