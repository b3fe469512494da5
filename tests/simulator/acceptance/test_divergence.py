"""β, α and D_LK of laws: Leviathan et al. 2023, §3.2."""

import numpy as np
import pytest

from simulator.acceptance.divergence import alpha_of_laws, beta_of_laws, lk_divergence


def random_laws(count: int, vocabulary: int, seed: int) -> np.ndarray:
    """Returns laws of which every third lacks half of its tokens."""
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=(count, vocabulary))
    weights[::3, ::2] = 0
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def test_beta_is_the_chance_that_algorithm_1_accepts() -> None:
    p, q = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.2, 0.2, 0.0, 0.6])
    accepts = sum(q[x] * min(1.0, p[x] / q[x]) for x in range(4) if q[x] > 0)
    assert beta_of_laws(p, q) == pytest.approx(accepts, rel=1e-15)


def test_lemma_3_and_corollary_4() -> None:
    p, q = random_laws(60, 7, 1), random_laws(60, 7, 2)
    divergence = lk_divergence(p, q)
    middle = (p + q) / 2
    assert divergence == pytest.approx(np.abs(p - middle).sum(axis=-1))
    assert divergence == pytest.approx(np.abs(q - middle).sum(axis=-1))
    assert divergence == pytest.approx(1 - beta_of_laws(p, q))
    assert divergence == pytest.approx(lk_divergence(q, p))
    assert ((divergence >= 0) & (divergence <= 1)).all()


def test_equal_laws_always_and_disjoint_laws_never_agree() -> None:
    p = random_laws(9, 5, 3)
    assert beta_of_laws(p, p) == pytest.approx(1)
    assert (lk_divergence(p, p) == 0).all()
    assert beta_of_laws([0.5, 0.5, 0, 0], [0, 0, 0.1, 0.9]) == 0
    assert lk_divergence([0.5, 0.5, 0, 0], [0, 0, 0.1, 0.9]) == 1


def test_alpha_is_the_mean_of_beta_over_positions() -> None:
    p, q = random_laws(12, 5, 4), random_laws(12, 5, 5)
    alpha = alpha_of_laws(p.reshape(3, 4, 5), q.reshape(3, 4, 5))
    assert alpha == pytest.approx(beta_of_laws(p, q).mean())


def test_one_draft_law_may_serve_all_positions() -> None:
    assert beta_of_laws(random_laws(6, 5, 6), np.full(5, 0.2)).shape == (6,)


def test_what_is_no_law_is_refused_with_by_how_much() -> None:
    with pytest.raises(ValueError, match=r"q must sum to 1 .*, got 0.9: 0.1 too little"):
        beta_of_laws([0.5, 0.5], [0.5, 0.4])
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\], got -0.1"):
        lk_divergence([1.0, -0.1, 0.1], [0.5, 0.5, 0])
    with pytest.raises(ValueError, match="p and q must have shapes that broadcast"):
        alpha_of_laws([0.5, 0.5], [0.5, 0.25, 0.25])
