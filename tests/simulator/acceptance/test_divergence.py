"""β, α and D_LK of laws (Leviathan et al. 2023, §3.2), and what A.2 weighs against them."""

import numpy as np
import pytest

from simulator.acceptance.divergence import alpha_of_laws, beta_of_laws


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
    """Definition 2: D_LK = Σ_x |p(x) - (p(x) + q(x))/2|, symmetric and in [0, 1]; 1 - D_LK is β."""
    p, q = random_laws(60, 7, 1), random_laws(60, 7, 2)
    middle = (p + q) / 2
    divergence = np.abs(p - middle).sum(axis=-1)
    assert divergence == pytest.approx(np.abs(q - middle).sum(axis=-1))
    assert beta_of_laws(p, q) == pytest.approx(1 - divergence)
    assert beta_of_laws(p, p) == pytest.approx(1)
    assert beta_of_laws([0.5, 0.5, 0, 0], [0, 0, 0.1, 0.9]) == 0


def test_rejection_sampling_never_accepts_more() -> None:
    """A.2: 1/M = min_x q(x)/p(x) ≤ Σ_x min(p(x), q(x)), and 0 once q misses a token of p."""
    p, q = random_laws(300, 6, 3)[1:], random_laws(300, 6, 4)[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        rejection = np.where(p > 0, q / p, np.inf).min(axis=-1)
    assert (rejection <= beta_of_laws(p, q) + 1e-12).all()
    assert (beta_of_laws(p, q) - rejection)[rejection == 0].max() > 0.5


def test_alpha_is_the_mean_of_beta_over_positions() -> None:
    p, q = random_laws(12, 5, 4), random_laws(12, 5, 5)
    alpha = alpha_of_laws(p.reshape(3, 4, 5), q.reshape(3, 4, 5))
    assert alpha == pytest.approx(beta_of_laws(p, q).mean())


def test_one_draft_law_may_serve_all_positions() -> None:
    uniform = beta_of_laws(random_laws(6, 5, 6), np.full(5, 0.2))
    assert uniform.shape == (6,)
    assert (uniform >= 0.2).all()


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.5, 0.5], [0.5, 0.4], r"q must sum to 1 .*, got 0.9: 0.1 too little"),
        ([1.0, -0.1, 0.1], [0.5, 0.5, 0], r"p must lie in \[0, 1\], got -0.1"),
        ([0.5, 0.5], [0.5, 0.25, 0.25], "p and q must have shapes that broadcast"),
    ],
)
def test_what_is_no_law_is_refused(p: list[float], q: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        alpha_of_laws(p, q)
