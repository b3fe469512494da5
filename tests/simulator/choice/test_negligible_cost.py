"""Drafters of negligible cost and the random one: Leviathan et al. 2023, §3.6."""

import numpy as np
import pytest

from simulator.acceptance.divergence import beta_of_laws
from simulator.acceptance.tokens import expected_tokens, unbounded_tokens
from simulator.choice.negligible_cost import random_drafter_beta, random_drafter_guarantee


def test_the_factor_stays_below_its_bound_and_nears_it() -> None:
    alpha = np.linspace(0, 0.99, 12)
    bound = unbounded_tokens(alpha)
    factors = expected_tokens(alpha, np.array([[1], [3], [10], [3000]]))
    assert (factors <= bound * (1 + 1e-15)).all()
    assert factors[-1] == pytest.approx(bound, rel=1e-12)


def test_random_tokens_are_accepted_as_uniform_ones_are() -> None:
    p = np.random.default_rng(0).dirichlet(np.full(9, 0.3), size=20)
    assert random_drafter_beta(p) == pytest.approx(beta_of_laws(p, np.full(9, 1 / 9)))


def test_the_guarantee_holds_for_every_target_and_is_tight_for_a_certain_one() -> None:
    rng = np.random.default_rng(1)
    for concentration in (0.01, 1, 100):
        p = rng.dirichlet(np.full(9, concentration), size=50)
        assert (random_drafter_beta(p) >= 1 / 9 - 1e-15).all()
    certain = np.eye(9)[4]
    guarantee = random_drafter_guarantee(9, 3)
    assert random_drafter_beta(certain) == pytest.approx(1 / 9)
    assert guarantee == pytest.approx(expected_tokens(random_drafter_beta(certain), 3))
    assert guarantee == pytest.approx((1 - 9.0**-4) / (1 - 1 / 9))
    assert 1 < random_drafter_guarantee(32_000, 5) < 1.0001


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="vocabulary must be at least 1, got 0"):
        random_drafter_guarantee(0, 3)
    with pytest.raises(ValueError, match=r"p must sum to 1 .*, got 0.5: 0.5 too little"):
        random_drafter_beta([0.25, 0.25])
