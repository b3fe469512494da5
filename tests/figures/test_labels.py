"""Isotonic regression agrees with scipy's, which figures do not import."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from figures.labels import nearest_ascending


@pytest.mark.parametrize("count", [1, 2, 3, 8, 50])
def test_the_nearest_ascending_values_are_those_of_scipy(count: int) -> None:
    rng = np.random.default_rng(count)
    for values in (rng.normal(size=count), -np.arange(count), rng.integers(0, 4, count)):
        expected = isotonic_regression(values).x
        np.testing.assert_allclose(nearest_ascending(values.astype(float)), expected, atol=1e-12)
