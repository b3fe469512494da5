"""Drafts by argmax, and at another temperature than the target's: lossless, and predicted."""

import math

import numpy as np
import pytest
import torch
from chi_squared import require_law
from pairs import PROMPTS, calls_beyond_replay, speculated, table_subject, tiny_subject

from estimator.traces.scoring import trace_pair
from reference.speculative import decode

P, Q = [0.3, 0.25, 0.25, 0.2], [0.1, 0.6, 0.2, 0.1]


def markov(seed: int) -> list[list[float]]:
    """Returns laws by the last token."""
    return np.random.default_rng(seed).dirichlet(np.full(4, 0.7), size=4).tolist()


def test_alpha_of_argmax_drafts_is_the_targets_probability_of_the_drafts_likeliest() -> None:
    """E[p(argmax q)] = p(1) = 0.25, where sampled drafts reach sum min(p, q) = 0.65."""
    pair = trace_pair(table_subject(P, Q), [0], [1, 0, 3], max_gamma=2)
    np.testing.assert_allclose(pair.argmax.beta, [0.25] * 3)
    np.testing.assert_allclose(pair.sampled.beta, [0.65] * 3)
    # min(1, q(x)/p(x)): the text's token is the argmax, or it is not.
    np.testing.assert_array_equal(pair.argmax.acceptance, [1, 0, 0])
    np.testing.assert_allclose(pair.sampled.acceptance, [1, 1 / 3, 0.5])
    assert pair.argmax.alpha_by_lenience[0.5] == pytest.approx(0.5)


@pytest.mark.parametrize(("draft_temperature", "alpha"), [(0.0, 0.25), (1.0, 0.65)])
def test_accepted_drafts_are_as_many_as_alpha_says(draft_temperature: float, alpha: float) -> None:
    """Some 3,000 blocks of one draft: within 4.5 standard errors, a false alarm in 150,000 runs.

    Texts have the target's law by chi-squared at the odds of `require_law`.
    """
    pair = table_subject(P, Q, tokens=4000, draft_temperature=draft_temperature)
    run = speculated(pair, [0], 1, seed=5)
    error = math.sqrt(alpha * (1 - alpha) / run.drafted)
    assert abs(run.accepted / run.drafted - alpha) < 4.5 * error
    counts = {token: run.tokens.count(token) for token in range(4)}
    require_law(counts, dict(enumerate(P)))


@pytest.mark.parametrize("draft_temperature", [0.0, 0.4, 2.0])
def test_replay_foretells_the_calls_of_drafts_at_any_temperature(draft_temperature: float) -> None:
    """Given each run's own text, counted calls minus replayed ones have mean 0.

    The bound is 4 standard errors: a false alarm in 16,000 runs of each case.
    """
    p, q = markov(1), markov(2)
    pair = table_subject(
        lambda text: p[text[-1]], lambda text: q[text[-1]], draft_temperature=draft_temperature
    )
    differences = calls_beyond_replay(pair, 3, 300)
    if draft_temperature == 0:
        # An argmax draft is accepted exactly where it is the text's own token.
        assert set(differences) == {0}
    else:
        error = differences.std(ddof=1) / math.sqrt(len(differences))
        assert error > 0
        assert abs(differences.mean()) < 4 * error


@pytest.mark.parametrize("draft_temperature", [0.0, 0.5, 2.0])
def test_greedy_text_is_the_targets_own_however_the_draft_samples(draft_temperature: float) -> None:
    pair = tiny_subject(0.0, 40, draft_temperature=draft_temperature)
    for number, prompt in enumerate(PROMPTS):
        own = decode(
            pair.target,
            prompt,
            sampling=pair.sampling,
            stopping=pair.stopping,
            generator=torch.Generator().manual_seed(number),
        )
        run = speculated(pair, prompt, 3, number)
        assert run.tokens == own.tokens
        assert run.accepted > 0
