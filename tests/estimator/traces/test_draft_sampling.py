"""Drafts by argmax, and at a temperature that is not the target's: lossless, and foretold."""

import math

import numpy as np
import pytest
import torch
from chi_squared import require_law
from pairs import PROMPTS, tiny_pair

from estimator.traces.scoring import trace, trace_pair
from estimator.traces.traces import replayed_calls
from reference.drafters.model_drafter import ModelDrafter
from reference.generation import decode, decode_speculatively
from reference.laws.sampling import Sampling
from reference.models.tabular import TabularModel
from reference.policies.policy import Fixed
from reference.stopping import Stopping

P, Q = [0.3, 0.25, 0.25, 0.2], [0.1, 0.6, 0.2, 0.1]


def markov(seed: int) -> TabularModel:
    """Returns a model whose law depends on the last token alone."""
    rows = np.random.default_rng(seed).dirichlet(np.full(4, 0.7), size=4)
    return TabularModel(lambda text: rows[text[-1]].tolist(), vocabulary=4)


def test_alpha_of_argmax_drafts_is_the_targets_probability_of_the_drafts_likeliest() -> None:
    """E[p(argmax q)] = p(1) = 0.25, where sampled drafts reach sum min(p, q) = 0.65."""
    target, draft = (TabularModel(lambda text, law=law: law, 4) for law in (P, Q))
    pair = trace_pair(
        target,
        ModelDrafter(draft, Sampling(), 4),
        [0],
        [1, 0, 3],
        sampling=Sampling(),
        limit=3,
        max_gamma=2,
    )
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
    target, draft = (TabularModel(lambda text, law=law: law, 4) for law in (P, Q))
    generator = torch.Generator().manual_seed(5)
    run = decode_speculatively(
        target,
        ModelDrafter(draft, Sampling(draft_temperature), 4),
        [0],
        sampling=Sampling(),
        policy=Fixed(1),
        stopping=Stopping(4000),
        generator=generator,
    )
    error = math.sqrt(alpha * (1 - alpha) / run.drafted)
    assert abs(run.accepted / run.drafted - alpha) < 4.5 * error
    counts = {token: run.tokens.count(token) for token in range(4)}
    require_law(counts, dict(enumerate(P)))


@pytest.mark.parametrize("draft_temperature", [0.0, 0.4, 2.0])
def test_replay_foretells_the_calls_of_drafts_at_any_temperature(draft_temperature: float) -> None:
    """Given each run's own text, counted calls minus replayed ones have mean 0.

    The bound is 4 standard errors: a false alarm in 16,000 runs of each case.
    """
    sampling = Sampling()
    target = markov(1)
    drafter = ModelDrafter(markov(2), Sampling(draft_temperature), 4)
    generator = torch.Generator().manual_seed(0)
    differences = []
    for _ in range(300):
        run = decode_speculatively(
            target,
            drafter,
            [0],
            sampling=sampling,
            policy=Fixed(3),
            stopping=Stopping(12),
            generator=generator,
        )
        recorded = trace(
            target, drafter, [0], run.tokens, sampling=sampling, limit=12, max_gamma=3
        )
        differences.append(run.target_calls - replayed_calls(recorded, 3))
    error = np.std(differences, ddof=1) / math.sqrt(len(differences))
    if draft_temperature == 0:
        # A draft by argmax stands exactly where it is the text's own token.
        assert error == 0
        assert set(differences) == {0}
    else:
        assert error > 0
        assert abs(np.mean(differences)) < 4 * error


@pytest.mark.parametrize("draft_temperature", [0.0, 0.5, 2.0])
def test_greedy_text_is_the_targets_own_however_the_draft_samples(draft_temperature: float) -> None:
    greedy = Sampling(0.0)
    target, drafter = tiny_pair(Sampling(draft_temperature))
    for number, prompt in enumerate(PROMPTS):
        generator = torch.Generator().manual_seed(number)
        settings = {"sampling": greedy, "stopping": Stopping(40), "generator": generator}
        own = decode(target, prompt, **settings)
        run = decode_speculatively(target, drafter, prompt, policy=Fixed(3), **settings)
        assert run.tokens == own.tokens
        assert run.accepted > 0
