"""β and α of laws (Leviathan et al. 2023, §3.2), and block verification along recorded texts."""

import itertools
import math

import numpy as np
import pytest

from figures.ours.block_verification import mean_tokens, simulate_block_verification
from simulator.acceptance.replay import Replay
from simulator.acceptance.tokens import beta_of_laws, block_acceptance


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


def test_one_draft_law_may_serve_all_positions() -> None:
    uniform = beta_of_laws(random_laws(6, 5, 6), np.full(5, 0.2))
    assert uniform.shape == (6,)
    assert (uniform >= 0.2).all()


SOURCE = np.random.default_rng(0)


def stands(ratios: list[float]) -> list[float]:
    """min(1, min over j <= i of the product of q/p), for i = 1, 2, ..., term by term."""
    products = [math.prod(ratios[:length]) for length in range(1, len(ratios) + 1)]
    return [min(1.0, *products[: length + 1]) for length in range(len(products))]


def test_acceptances_multiply_to_the_running_minimum_of_the_likelihood_ratio() -> None:
    ratio = SOURCE.exponential(size=9)
    ratio[3] = 0.0
    found = block_acceptance(ratio, 4)
    assert found.shape == (9, 4)
    for start in range(6):
        expected = stands(ratio[start : start + 4].tolist())
        np.testing.assert_allclose(found[start].cumprod(), expected, atol=1e-12)
    # The last token's block reads nothing: positions 10, 11 and 12 are after the text.
    assert found[-1, 1:].tolist() == [0, 0, 0]


def test_ratios_by_block_equal_ratios_by_position() -> None:
    ratio = SOURCE.exponential(size=8)
    by_block = np.concatenate([ratio, np.zeros(3)])[np.arange(8)[:, None] + np.arange(3)]
    np.testing.assert_allclose(block_acceptance(by_block, 3), block_acceptance(ratio, 3))
    np.testing.assert_allclose(block_acceptance(by_block, 2), block_acceptance(ratio, 2))


def test_a_certain_draft_gains_nothing() -> None:
    """Ratios of one-hot drafts are 0, or at least 1: cut to 1 or not, equal tokens are accepted."""
    ratio = np.where(SOURCE.random(20) < 0.7, 1 / SOURCE.uniform(0.1, 1, 20), 0.0)
    uncut, cut = block_acceptance(ratio, 5), block_acceptance(np.minimum(ratio, 1), 5)
    np.testing.assert_allclose(uncut[:16].cumprod(axis=1), cut[:16].cumprod(axis=1))
    np.testing.assert_allclose(
        Replay(uncut).calls([1, 3, 5]), Replay(np.minimum(ratio, 1)).calls([1, 3, 5])
    )


def test_calls_are_never_more_than_token_by_token() -> None:
    fewer = 0
    for _ in range(100):
        ratio = SOURCE.exponential(size=30) * SOURCE.uniform(0.5, 1.5)
        gammas = np.arange(1, 9)
        whole = Replay(block_acceptance(ratio, 8)).calls(gammas)
        single = Replay(np.minimum(ratio, 1)).calls(gammas)
        assert (whole <= single + 1e-9).all()
        assert whole[0] == pytest.approx(single[0])
        fewer += int((whole < single - 0.1).any())
    assert fewer > 90


def test_random_blocks_of_the_papers_example() -> None:
    """Sun et al. 2024, section 2: 11/9 accepted tokens at gamma 2 (odds of a false alarm: 6e-7)."""
    p, q = np.array([[1 / 3, 2 / 3]]), np.array([[2 / 3, 1 / 3]])
    drawn = simulate_block_verification(p, q, 2, blocks=40_000, generator=np.random.default_rng(1))
    mean, error = mean_tokens(drawn)
    assert abs(mean - (1 + 11 / 9)) < 5 * error


def test_random_blocks_agree_with_the_mean_of_shares() -> None:
    """E[tokens] = 1 + sum over i of E[s_i], summed over every draft of three tokens."""
    p, q = SOURCE.dirichlet([0.5] * 4, size=2), SOURCE.dirichlet([0.5] * 4, size=2)
    expected = 1.0
    steps = [(pair, token) for pair in range(2) for token in range(4)]
    for length in (1, 2, 3):
        for draft in itertools.product(steps, repeat=length):
            mass = math.prod(q[step] / 2 for step in draft)
            share = 1.0
            for step in draft:
                share = min(1.0, share * p[step] / q[step])
            expected += mass * share
    drawn = simulate_block_verification(p, q, 3, blocks=40_000, generator=np.random.default_rng(2))
    mean, error = mean_tokens(drawn)
    assert abs(mean - expected) < 5 * error
