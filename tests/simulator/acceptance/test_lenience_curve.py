"""Acceptance between measured leniences."""

import math

import numpy as np
import pytest

from simulator.acceptance.tokens import interpolated_alpha


def test_it_meets_what_was_measured_and_never_exceeds_the_law_between() -> None:
    p, q = np.array([0.6, 0.25, 0.15]), np.array([0.2, 0.3, 0.5])

    def law(lenience: float) -> float:
        return float(np.minimum(p / lenience, q).sum())

    measured = {lenience: law(lenience) for lenience in (1.0, 0.5, 0.75, 0.25)}
    for lenience, alpha in measured.items():
        assert interpolated_alpha(measured, lenience=lenience) == pytest.approx(alpha, rel=1e-12)
    between = np.linspace(0.25, 1, 76)
    estimates = [interpolated_alpha(measured, lenience=lenience) for lenience in between]
    assert all(e <= law(x) + 1e-12 for e, x in zip(estimates, between, strict=True))
    assert np.all(np.diff(estimates) <= 1e-12)


@pytest.mark.parametrize("lenience", [0.05, 1.5, 0.0, -1.0, math.nan])
def test_lenience_beyond_what_was_measured_is_refused(lenience: float) -> None:
    with pytest.raises(ValueError, match=r"lenience must lie in \[0.1, 1\], where alpha was"):
        interpolated_alpha({1.0: 0.6, 0.1: 0.9}, lenience=lenience)


def test_lenience_without_measurements_is_refused() -> None:
    with pytest.raises(ValueError, match="alpha_by_lenience must have at least one lenience"):
        interpolated_alpha({}, lenience=0.5)
