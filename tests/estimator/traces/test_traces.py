"""Traces and replay against counted runs."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from pairs import PROMPTS, calls_beyond_replay, speculated, table_subject, tiny_subject
from plain_laws import random_table
from tree_replay import calls_along

from estimator.traces.scoring import LENIENCES, trace, trace_pair
from estimator.traces.text_traces import REPLICATES, simulated_seconds
from estimator.traces.traces import (
    Trace,
    acceptance_by_rank,
    alpha,
    block_efficiency,
    lenient_alpha,
    replayed_calls,
)
from ngram.drafters.copying import PromptLookupDrafter
from reference.drafters.trees import TreeDrafter
from reference.laws import Dense
from reference.records import Stopping
from reference.scoring import Stretch, score_laws
from simulator.acceptance.replay import Replay
from simulator.cost.curves import CostModel

TOKENS = 24
LOOKUP = PromptLookupDrafter(device=torch.device("cpu"))


@pytest.mark.parametrize("gamma", [1, 2, 3, 5, 8])
def test_greedy_replay_equals_the_counted_target_calls(gamma: int) -> None:
    pair = tiny_subject(0, TOKENS)
    for prompt in PROMPTS:
        run = speculated(pair, prompt, gamma)
        recorded = trace(pair, prompt, run.tokens, max_gamma=gamma)
        assert replayed_calls(recorded, gamma) == run.target_calls


def test_greedy_replay_is_exact_where_the_text_ends_by_itself() -> None:
    pair = tiny_subject(0, TOKENS)
    for end in set(speculated(pair, PROMPTS[0], 4).tokens):
        ending = replace(pair, stopping=Stopping(TOKENS, frozenset([end])))
        run = speculated(ending, PROMPTS[0], 4)
        recorded = trace(ending, PROMPTS[0], run.tokens, max_gamma=4)
        assert replayed_calls(recorded, 4) == run.target_calls


def markov(seed: int) -> list[list[float]]:
    """Returns laws by the last token, with some zeros."""
    rows = np.random.default_rng(seed).dirichlet(np.full(4, 0.7), size=4)
    rows[rows < 0.05] = 0
    return (rows / rows.sum(axis=1, keepdims=True)).tolist()


def test_sampled_replay_agrees_with_the_counted_target_calls() -> None:
    """Given each run's own text, counted calls minus replayed ones have mean 0.

    The bound is 4 standard errors: a false alarm in 16,000 runs.
    """
    p, q = markov(1), markov(2)
    pair = table_subject(lambda text: p[text[-1]], lambda text: q[text[-1]])
    differences = calls_beyond_replay(pair, 3, 400)
    error = differences.std(ddof=1) / math.sqrt(len(differences))
    assert error > 0
    assert abs(differences.mean()) < 4 * error


def test_beta_and_acceptance_are_those_of_the_laws() -> None:
    pair = table_subject([0.5, 0.3, 0.2, 0.0], [0.2, 0.2, 0.0, 0.6])
    recorded = trace(pair, [3], [0, 1, 2], max_gamma=2, leniences=LENIENCES)
    np.testing.assert_allclose(recorded.beta, [0.4] * 3)
    np.testing.assert_allclose(recorded.acceptance, [0.4, 2 / 3, 0])
    assert alpha([recorded]) == pytest.approx(0.4)
    assert recorded.alpha_by_lenience[1.0] == pytest.approx(0.4)
    # sum min(p/l, q) by hand: .2 + .2 + 0 + 0 for every l, as q has no mass where p/l would help
    assert recorded.alpha_by_lenience[0.1] == pytest.approx(0.4)


def test_ranks_are_of_the_texts_own_tokens_and_their_shares_add_up() -> None:
    pair = table_subject([0.4, 0.3, 0.3], [0.2, 0.5, 0.3])
    traces = trace_pair(pair, [0], [0, 1, 1, 2], max_gamma=1)
    for recorded in (traces.sampled, traces.argmax):
        assert recorded.rank is not None
        assert recorded.rank.tolist() == [2, 0, 0, 1]
        assert acceptance_by_rank([recorded], 3) == (0.5, 0.25, 0.25)
        assert acceptance_by_rank([recorded, recorded], 2) == (0.5, 0.25)
    copied = trace(replace(pair, drafter=LOOKUP), [0], [0, 1], max_gamma=1)
    assert copied.rank is None
    assert acceptance_by_rank([traces.sampled, copied], 2) == ()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_trees_of_likeliest_tokens_are_replayed_call_by_call(temperature: float) -> None:
    """Given the text every acceptance is known, at any temperature: no tolerance is needed."""
    parents = (-1, -1, 0, 0, 1, 2)
    pair = table_subject(random_table(1, 4), random_table(2, 4), temperature, 30, temperature)
    tree = replace(pair, drafter=TreeDrafter(pair.drafter, parents))
    longest = 0
    for seed in range(10):
        run = speculated(tree, [0], 6, seed)
        rank = trace(pair, [0], run.tokens, max_gamma=1).rank
        assert rank is not None
        calls = calls_along(rank.tolist(), parents, 30)
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
    pair = table_subject([0.1, 0.9], [0.7, 0.3])
    recorded = trace(pair, [0], [1, 1], max_gamma=1, leniences=LENIENCES)
    for lenience, value in recorded.alpha_by_lenience.items():
        assert value == pytest.approx(min(0.1 / lenience, 0.7) + 0.3)


def test_greedy_lenience_keeps_what_is_likely_enough() -> None:
    """A.5 at temperature 0: drafts are accepted where p(x) >= l max p. Here p(1) / max p = 0.5."""
    pair = table_subject([0.6, 0.3, 0.1], [0.1, 0.8, 0.1], 0.0, draft_temperature=0.0)
    recorded = trace(pair, [2], [0, 0], max_gamma=1, leniences=[1.0, 0.51, 0.49, 0.1])
    assert alpha([recorded]) == 0
    assert recorded.alpha_by_lenience == {1.0: 0, 0.51: 0, 0.49: 1, 0.1: 1}
    assert lenient_alpha([recorded], 0.49) == 1


def test_lenience_never_accepts_a_copied_token_more_than_surely() -> None:
    """A lookup's law is one-hot: sum min(p/l, q) is p/l at its token, at most 1."""
    pair = replace(table_subject([0.5, 0.4, 0.1], [1.0, 0.0, 0.0]), drafter=LOOKUP)
    recorded = trace(pair, [1, 0], [1, 0], max_gamma=2, leniences=[1.0, 0.8, 0.1])
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
    expected = Replay(acceptance, limit=limit, drafted=drafted).seconds(4, cost)
    assert abs(seconds.mean() - expected) < 4.5 * seconds.std() / math.sqrt(REPLICATES)


def test_block_efficiency_without_acceptance_is_one_and_with_all_is_longest() -> None:
    assert block_efficiency([trace_of(np.zeros(10), 10)], 3) == 1
    assert block_efficiency([trace_of(np.ones(12), 12)], 3) == 4
