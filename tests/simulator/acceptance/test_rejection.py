"""Non-iterative rejection sampling and the inequality of Leviathan et al. 2023, A.2."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from simulator.acceptance.divergence import beta_of_laws
from simulator.acceptance.rejection import rejection_beta

weights = arrays(np.float64, 6, elements=st.just(0.0) | st.floats(1e-9, 1)).filter(np.any)


def test_a_token_all_but_impossible_does_not_overflow() -> None:
    assert rejection_beta([1.0, 5e-324], [0.5, 0.5]) == 0.5


@settings(deadline=None, derandomize=True)
@given(weights, weights)
def test_it_never_accepts_more_than_speculative_sampling(p: np.ndarray, q: np.ndarray) -> None:
    p, q = p / p.sum(), q / q.sum()
    assert rejection_beta(p, q) <= beta_of_laws(p, q) + 1e-12


@settings(deadline=None, derandomize=True)
@given(weights, weights)
def test_acceptance_is_the_sum_that_the_paper_writes(p: np.ndarray, q: np.ndarray) -> None:
    p, q = p / p.sum(), q / q.sum()
    least = min(q[x] / p[x] for x in range(6) if p[x] > 0)
    assert rejection_beta(p, q) == pytest.approx(sum(p * least), rel=1e-9)


def test_the_output_law_is_the_targets() -> None:
    # Accepted with p/(M q), else drawn from p.
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    accepted = rejection_beta(p, q)
    assert accepted == pytest.approx(0.2 / 0.5)
    emitted = q * (accepted * p / q) + (1 - accepted) * p
    assert emitted == pytest.approx(p)


def test_equal_laws_are_always_accepted() -> None:
    assert rejection_beta([0.5, 0.5, 0], [0.5, 0.5, 0]) == 1


def test_one_missing_token_ruins_it() -> None:
    p, q = [0.01, 0.99], [0.0, 1.0]
    assert rejection_beta(p, q) == 0
    assert beta_of_laws(p, q) == pytest.approx(0.99)


def test_shapes_broadcast_and_laws_are_checked() -> None:
    assert rejection_beta(np.full((3, 1, 2), 0.5), np.full((4, 2), 0.5)).shape == (3, 4)
    with pytest.raises(ValueError, match=r"p must sum to 1 .*, got 1.1: 0.1 too much"):
        rejection_beta([0.6, 0.5], [0.5, 0.5])
