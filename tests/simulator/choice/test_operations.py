"""Theorem 10 and the memory accesses of Leviathan et al. 2023, §3.4."""

import numpy as np
import pytest

from simulator.acceptance.tokens import expected_tokens
from simulator.choice.walltime import memory_access_factor, operations_factor


def test_operations_are_counted_one_by_one() -> None:
    # γ = 3 drafts at ĉ and 4 target positions for 1 + α + α² + α³ tokens.
    tokens = 1 + 0.6 + 0.36 + 0.216
    assert operations_factor(0.6, 3, 0.05) == pytest.approx((3 * 0.05 + 4) / tokens, rel=1e-15)


def test_a_perfect_free_draft_wastes_nothing() -> None:
    assert operations_factor(1.0, [0, 1, 30], 0.0) == pytest.approx(1)
    assert operations_factor([0.0, 0.5, 1.0], 0, 7.0) == pytest.approx(1)


def test_memory_is_read_once_a_call() -> None:
    alpha = np.linspace(0, 1, 11)
    product = memory_access_factor(alpha, 5) * expected_tokens(alpha, 5)
    assert product == pytest.approx(1, rel=1e-15)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"c_hat must be finite and at least 0, got -1.0"):
        operations_factor(0.5, 3, -1)
    with pytest.raises(ValueError, match=r"alpha must lie in \[0, 1\], got nan"):
        memory_access_factor(float("nan"), 3)
