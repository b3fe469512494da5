"""Traces and replay against counted runs."""

import math

import numpy as np
import pytest
import torch
from pairs import PROMPTS, tiny_pair
from plain_laws import random_table

from estimator.traces.ahead import REPLICATES, simulated_seconds
from estimator.traces.scoring import LENIENCES, trace, trace_pair
from estimator.traces.traces import (
    Trace,
    acceptance_by_rank,
    alpha,
    block_efficiency,
    lenient_alpha,
    replayed_calls,
)
from ngram.drafters.lookup import PromptLookupDrafter
from reference.drafters.model_drafter import ModelDrafter
from reference.drafters.trees import TreeDrafter
from reference.generation import decode_speculatively
from reference.laws.laws import Dense
from reference.laws.sampling import Sampling
from reference.laws.scoring import Stretch, score_laws
from reference.models.tabular import TabularModel
from reference.policies.policy import Fixed
from reference.stopping import Stopping
from simulator.acceptance.replay import expected_seconds
from simulator.cost.curves import CostModel
from simulator.schemes.trees import tree_calls

TOKENS = 40


@pytest.mark.parametrize("gamma", range(1, 9))
def test_greedy_replay_equals_the_counted_target_calls(gamma: int) -> None:
    sampling = Sampling(temperature=0)
    target, drafter = tiny_pair(sampling)
    for prompt in PROMPTS:
        run = decode_speculatively(
            target,
            drafter,
            prompt,
            sampling=sampling,
            policy=Fixed(gamma),
            stopping=Stopping(TOKENS),
            generator=torch.Generator().manual_seed(0),
        )
        recorded = trace(
            target, drafter, prompt, run.tokens, sampling=sampling, limit=TOKENS, max_gamma=gamma
        )
        assert replayed_calls(recorded, gamma) == run.target_calls


def test_greedy_replay_is_exact_where_the_text_ends_by_itself() -> None:
    sampling = Sampling(temperature=0)
    target, drafter = tiny_pair(sampling)
    whole = decode_speculatively(
        target,
        drafter,
        PROMPTS[0],
        sampling=sampling,
        policy=Fixed(4),
        stopping=Stopping(TOKENS),
        generator=torch.Generator().manual_seed(0),
    )
    for end in set(whole.tokens):
        run = decode_speculatively(
            target,
            drafter,
            PROMPTS[0],
            sampling=sampling,
            policy=Fixed(4),
            stopping=Stopping(TOKENS, frozenset([end])),
            generator=torch.Generator().manual_seed(0),
        )
        recorded = trace(
            target, drafter, PROMPTS[0], run.tokens, sampling=sampling, limit=TOKENS, max_gamma=4
        )
        assert replayed_calls(recorded, 4) == run.target_calls


def markov(seed: int) -> TabularModel:
    """Returns a model whose law depends on the last token alone, with some zeros."""
    rows = np.random.default_rng(seed).dirichlet(np.full(4, 0.7), size=4)
    rows[rows < 0.05] = 0
    rows /= rows.sum(axis=1, keepdims=True)
    return TabularModel(lambda text: rows[text[-1]].tolist(), vocabulary=4)


def test_sampled_replay_agrees_with_the_counted_target_calls() -> None:
    """Given each run's own text, counted calls minus replayed ones have mean 0.

    The bound is 4 standard errors: a false alarm in 16,000 runs.
    """
    sampling = Sampling(temperature=1)
    target, draft = markov(1), markov(2)
    drafter = ModelDrafter(draft, sampling, 4)
    generator = torch.Generator().manual_seed(0)
    differences = []
    for _ in range(400):
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
    assert error > 0
    assert abs(np.mean(differences)) < 4 * error


def test_beta_and_acceptance_are_those_of_the_laws() -> None:
    p, q = [0.5, 0.3, 0.2, 0.0], [0.2, 0.2, 0.0, 0.6]
    sampling = Sampling(temperature=1)
    drafter = ModelDrafter(TabularModel(lambda text: q, 4), sampling, 4)
    recorded = trace(
        TabularModel(lambda text: p, 4),
        drafter,
        [3],
        [0, 1, 2],
        sampling=sampling,
        limit=3,
        max_gamma=2,
        leniences=LENIENCES,
    )
    np.testing.assert_allclose(recorded.beta, [0.4] * 3)
    np.testing.assert_allclose(recorded.acceptance, [0.4, 2 / 3, 0])
    assert alpha([recorded]) == pytest.approx(0.4)
    assert recorded.alpha_by_lenience[1.0] == pytest.approx(0.4)
    # sum min(p/l, q) by hand: .2 + .2 + 0 + 0 for every l, as q has no mass where p/l would help
    assert recorded.alpha_by_lenience[0.1] == pytest.approx(0.4)


def test_ranks_are_of_the_texts_own_tokens_and_their_shares_add_up() -> None:
    sampling = Sampling(temperature=1)
    drafter = ModelDrafter(TabularModel(lambda text: [0.2, 0.5, 0.3], 3), sampling, 3)
    target = TabularModel(lambda text: [0.4, 0.3, 0.3], 3)
    pair = trace_pair(target, drafter, [0], [0, 1, 1, 2], sampling=sampling, limit=4, max_gamma=1)
    for recorded in (pair.sampled, pair.argmax):
        assert recorded.rank is not None
        assert recorded.rank.tolist() == [2, 0, 0, 1]
        assert acceptance_by_rank([recorded], 3) == (0.5, 0.25, 0.25)
        assert acceptance_by_rank([recorded, recorded], 2) == (0.5, 0.25)
    lookup = PromptLookupDrafter(device=torch.device("cpu"))
    copied = trace(target, lookup, [0], [0, 1], sampling=sampling, limit=2, max_gamma=1)
    assert copied.rank is None
    assert acceptance_by_rank([pair.sampled, copied], 2) == ()


def test_trees_of_likeliest_tokens_are_replayed_call_by_call() -> None:
    """Given the text every acceptance is known, at any temperature: no tolerance is needed."""
    target, law = TabularModel(random_table(1, 4), 4), random_table(2, 4)
    parents = (-1, -1, 0, 0, 1, 2)
    for temperature in (0.0, 1.0):
        sampling = Sampling(temperature)
        model = ModelDrafter(TabularModel(law, 4), sampling, 4)
        longest = 0
        for seed in range(10):
            run = decode_speculatively(
                target,
                TreeDrafter(model, parents),
                [0],
                sampling=sampling,
                policy=Fixed(6),
                stopping=Stopping(30),
                generator=torch.Generator().manual_seed(seed),
            )
            rank = trace(
                target, model, [0], run.tokens, sampling=sampling, limit=30, max_gamma=1
            ).rank
            assert rank is not None
            calls = tree_calls(rank, parents, limit=30).tolist()
            assert calls == [len(block.tokens) for block in run.blocks]
            longest = max(longest, *calls)
        assert longest > 2


def test_a_row_that_rounding_lifts_above_one_is_accepted_for_sure() -> None:
    """The sum of min(p, q) over a float32 row of two equal laws may exceed 1 by its last digits."""
    rows = Dense(torch.tensor([[0.5, 0.5 + 2e-7]], dtype=torch.float64))
    scores = score_laws(Stretch([0], [1], rows), rows, [1.0, 0.5])
    assert scores.beta.tolist() == [1]
    assert scores.lenient_beta.tolist() == [[1, 1]]


def test_lenience_raises_alpha_as_the_formula_says() -> None:
    p, q = [0.1, 0.9], [0.7, 0.3]
    sampling = Sampling(temperature=1)
    drafter = ModelDrafter(TabularModel(lambda text: q, 2), sampling, 2)
    recorded = trace(
        TabularModel(lambda text: p, 2),
        drafter,
        [0],
        [1, 1],
        sampling=sampling,
        limit=2,
        max_gamma=1,
        leniences=LENIENCES,
    )
    for lenience, value in recorded.alpha_by_lenience.items():
        assert value == pytest.approx(min(0.1 / lenience, 0.7) + 0.3)


def test_greedy_lenience_keeps_what_is_likely_enough() -> None:
    """A.5 at temperature 0: drafted tokens stand where p(x) >= l max p. Here p(1) / max p = 0.5."""
    sampling = Sampling(temperature=0)
    drafter = ModelDrafter(TabularModel(lambda text: [0.1, 0.8, 0.1], 3), sampling, 3)
    recorded = trace(
        TabularModel(lambda text: [0.6, 0.3, 0.1], 3),
        drafter,
        [2],
        [0, 0],
        sampling=sampling,
        limit=2,
        max_gamma=1,
        leniences=[1.0, 0.51, 0.49, 0.1],
    )
    assert alpha([recorded]) == 0
    assert recorded.alpha_by_lenience == {1.0: 0, 0.51: 0, 0.49: 1, 0.1: 1}
    assert lenient_alpha([recorded], 0.49) == 1


def test_lenience_never_accepts_a_copied_token_more_than_surely() -> None:
    """A lookup's law is one-hot: sum min(p/l, q) is p/l at its token, at most 1."""
    sampling = Sampling(temperature=1)
    drafter = PromptLookupDrafter(device=torch.device("cpu"))
    recorded = trace(
        TabularModel(lambda text: [0.5, 0.4, 0.1], 3),
        drafter,
        [1, 0],
        [1, 0],
        sampling=sampling,
        limit=2,
        max_gamma=2,
        leniences=[1.0, 0.8, 0.1],
    )
    # After 1 0 there is nothing to copy, after 1 0 1 there is the 0, and p(0) = 0.5.
    assert recorded.alpha_by_lenience == pytest.approx({1.0: 0.25, 0.8: 0.3125, 0.1: 0.5})


def trace_of(acceptance: np.ndarray, limit: int, drafted: np.ndarray | None = None) -> Trace:
    return Trace(np.full(len(acceptance), 0.5), acceptance, drafted, limit)


@pytest.mark.parametrize("limit", [30, 50])
@pytest.mark.parametrize("matrix", [False, True])
def test_simulated_durations_have_the_mean_that_replay_predicts(limit: int, matrix: bool) -> None:
    """Within 4.5 standard errors: a false alarm in 150,000 runs of each case."""
    generator = np.random.default_rng(0)
    acceptance = generator.random((30, 4) if matrix else 30)
    drafted = generator.integers(0, 5, 30) if matrix else None
    cost = CostModel(target_seconds={1: 1.0, 5: 1.7}, draft_seconds=0.1, overhead_seconds=0.05)
    recorded = trace_of(acceptance, limit, drafted)
    seconds = simulated_seconds(recorded, 4, cost, generator)
    expected = expected_seconds(acceptance, 4, cost=cost, limit=limit, drafted=drafted)
    assert abs(seconds.mean() - expected) < 4.5 * seconds.std() / math.sqrt(REPLICATES)


def test_block_efficiency_without_acceptance_is_one_and_with_all_is_longest() -> None:
    assert block_efficiency([trace_of(np.zeros(10), 10)], 3) == 1
    assert block_efficiency([trace_of(np.ones(12), 12)], 3) == 4
