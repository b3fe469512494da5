"""Theorem 10 of Leviathan et al. 2023."""

import pytest

from simulator.choice.walltime import operations_factor


def test_operations_are_counted_one_by_one() -> None:
    # γ = 3 drafts at ĉ and 4 target positions for 1 + α + α² + α³ tokens.
    tokens = 1 + 0.6 + 0.36 + 0.216
    assert operations_factor(0.6, 3, 0.05) == pytest.approx((3 * 0.05 + 4) / tokens, rel=1e-15)


def test_a_perfect_free_draft_wastes_nothing() -> None:
    assert operations_factor(1.0, [0, 1, 30], 0.0) == pytest.approx(1)
    assert operations_factor([0.0, 0.5, 1.0], 0, 7.0) == pytest.approx(1)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"c_hat must be finite and at least 0, got -1.0"):
        operations_factor(0.5, 3, -1)
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\], got nan"):
        operations_factor(float("nan"), 3, 0.1)
