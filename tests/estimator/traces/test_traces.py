"""Traces and replay against counted runs."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from estimator.traces.scoring import LENIENCES, trace, trace_pair
from estimator.traces.text_traces import REPLICATES, simulated_seconds, tie_gap
from estimator.traces.traces import (
    Trace,
    acceptance_by_rank,
    alpha,
    block_efficiency,
    lenient_alpha,
)
from ngram.drafters import PromptLookupDrafter
from reference.drafters.model_drafter import ModelDrafter
from reference.drafters.trees import TreeDrafter
from reference.laws import Dense, Sampling
from reference.records import Stopping
from reference.scoring import Stretch, score_laws
from reference.speculative import Subject, plain_session
from simulator.acceptance.replay import Replay
from simulator.cost.curves import CostModel
from tests.estimator.pairs import (
    PROMPTS,
    calls_beyond_replay,
    speculated,
    table_subject,
    tiny_subject,
)
from tests.reference.chi_squared import require_law
from tests.reference.plain_laws import random_table
from tests.reference.tabular import TabularModel
from tests.simulator.tree_replay import calls_along

TOKENS = 24
P, Q = [0.3, 0.25, 0.25, 0.2], [0.1, 0.6, 0.2, 0.1]
LOOKUP = PromptLookupDrafter(device=torch.device("cpu"))


def require_counted(pair: Subject, prompt: list[int], gamma: int) -> None:
    run = speculated(pair, prompt, gamma)
    recorded = trace(pair, prompt, run.tokens, max_gamma=gamma)
    assert float(recorded.replay.calls(gamma)) == run.target_calls


@pytest.mark.parametrize("gamma", [1, 2, 3, 5, 8])
def test_greedy_replay_equals_the_counted_target_calls(gamma: int) -> None:
    pair = tiny_subject(0, TOKENS)
    for prompt in PROMPTS:
        require_counted(pair, prompt, gamma)


def test_greedy_replay_is_exact_where_the_text_ends_by_itself() -> None:
    pair = tiny_subject(0, TOKENS)
    for end in set(speculated(pair, PROMPTS[0], 4).tokens):
        ending = replace(pair, stopping=Stopping(TOKENS, frozenset([end])))
        require_counted(ending, PROMPTS[0], 4)


def markov(seed: int) -> list[list[float]]:
    """Returns laws by the last token, with some zeros."""
    rows = np.random.default_rng(seed).dirichlet(np.full(4, 0.7), size=4)
    rows[rows < 0.05] = 0
    return (rows / rows.sum(axis=1, keepdims=True)).tolist()


@pytest.mark.parametrize("draft_temperature", [1.0, 0.0, 0.4, 2.0])
def test_replay_agrees_with_counted_calls_at_any_temperature(draft_temperature: float) -> None:
    """Given each run's own text, counted calls minus replayed ones have mean 0.

    The bound is 4 standard errors: a false alarm in 16,000 runs of each case.
    """
    p, q = markov(1), markov(2)
    pair = table_subject(
        lambda text: p[text[-1]], lambda text: q[text[-1]], draft_temperature=draft_temperature
    )
    differences = calls_beyond_replay(pair, 3, 400)
    if draft_temperature == 0:
        # An argmax draft is accepted exactly where it is the text's own token.
        assert set(differences) == {0}
        return
    error = differences.std(ddof=1) / math.sqrt(len(differences))
    assert error > 0
    assert abs(differences.mean()) < 4 * error


def test_alpha_of_argmax_drafts_is_the_targets_probability_of_the_drafts_likeliest() -> None:
    """E[p(argmax q)] = p(1) = 0.25, where sampled drafts reach sum min(p, q) = 0.65."""
    pair = trace_pair(table_subject(P, Q), [0], [1, 0, 3], max_gamma=2)
    np.testing.assert_allclose(pair.argmax.beta, [0.25] * 3)
    np.testing.assert_allclose(pair.sampled.beta, [0.65] * 3)
    # min(1, q(x)/p(x)): the text's token is the argmax, or it is not.
    np.testing.assert_array_equal(pair.argmax.acceptance, [1, 0, 0])
    np.testing.assert_allclose(pair.sampled.acceptance, [1, 1 / 3, 0.5])
    assert pair.argmax.alpha_by_lenience[0.5] == pytest.approx(0.5)


@pytest.mark.parametrize(("draft_temperature", "rate"), [(0.0, 0.25), (1.0, 0.65)])
def test_accepted_drafts_are_as_many_as_alpha_says(draft_temperature: float, rate: float) -> None:
    """Some 3,000 blocks of one draft: within 4.5 standard errors, a false alarm in 150,000 runs.

    Texts have the target's law by chi-squared at the odds of `require_law`.
    """
    pair = table_subject(P, Q, tokens=4000, draft_temperature=draft_temperature)
    run = speculated(pair, [0], 1, seed=5)
    error = math.sqrt(rate * (1 - rate) / run.drafted)
    assert abs(run.accepted / run.drafted - rate) < 4.5 * error
    require_law({token: run.tokens.count(token) for token in range(4)}, dict(enumerate(P)))


def test_greedy_text_is_the_targets_own_however_the_draft_samples() -> None:
    pairs = {t: tiny_subject(0.0, 40, draft_temperature=t) for t in (0.0, 0.5, 1.5)}
    target, sampling, stopping = (
        getattr(pairs[0.0], n) for n in ("target", "sampling", "stopping")
    )
    for number, prompt in enumerate(PROMPTS):
        generator = torch.Generator().manual_seed(number)
        own = plain_session(
            target, prompt, sampling=sampling, stopping=stopping, generator=generator
        ).finished()
        for pair in pairs.values():
            run = speculated(pair, prompt, 3, number)
            assert run.tokens == own.tokens
            assert run.accepted > 0


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


@pytest.mark.parametrize(
    ("p", "q", "greedy", "tokens", "expected"),
    [
        # min(p/l, q) of both tokens, at temperature 1.
        ([0.1, 0.9], [0.7, 0.3], False, [1, 1], {1.0: 0.4, 0.5: 0.5, 0.2: 0.8, 0.1: 1}),
        # A.5 at temperature 0: accepted where p(x) >= l max p. Here p(1) / max p = 0.5.
        ([0.6, 0.3, 0.1], [0.1, 0.8, 0.1], True, [0, 0], {1.0: 0, 0.51: 0, 0.49: 1, 0.1: 1}),
    ],
)
def test_lenience_raises_alpha_as_the_formula_says(
    p: list[float], q: list[float], greedy: bool, tokens: list[int], expected: dict[float, float]
) -> None:
    temperature = 0.0 if greedy else 1.0
    pair = table_subject(p, q, temperature, draft_temperature=temperature)
    recorded = trace(pair, [0], tokens, max_gamma=1, leniences=list(expected))
    assert recorded.alpha_by_lenience == pytest.approx(expected)
    assert lenient_alpha([recorded], 0.1) == pytest.approx(1)


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


def test_alpha_is_a_mean_over_tokens_so_that_long_texts_weigh_more() -> None:
    texts = [
        replace(trace_of(np.ones(n), n), beta=np.full(n, beta))
        for n, beta in ((90, 0.9), (10, 0.4))
    ]
    assert alpha(texts) == pytest.approx(0.85)


@pytest.mark.parametrize(
    ("prompt", "own", "other", "penalty", "gap"),
    [
        ([0], [1, 2, 2], [1, 0, 2], 1.0, math.log(0.7 / 0.2)),
        ([1, 0], [1], [2], 1.0, math.log(0.5 / 0.4)),
        # Token 1 is in the text and penalised, token 2 is not: 2 log(0.5) against log(0.4).
        ([1, 0], [2], [1], 2.0, abs(2 * math.log(0.5) - math.log(0.4))),
    ],
)
def test_the_gap_is_that_of_the_logits_where_the_texts_first_differ(
    prompt: list[int], own: list[int], other: list[int], penalty: float, gap: float
) -> None:
    rows = {0: [0.1, 0.5, 0.4], 1: [0.2, 0.1, 0.7], 2: [0.3, 0.3, 0.4]}
    model = TabularModel(lambda text: rows[text[-1]], 3)
    sampling = Sampling(0, repetition_penalty=penalty)
    subject = Subject(model, ModelDrafter(model, sampling, 3), sampling, Stopping(3))
    assert tie_gap(subject, prompt, own, other) == pytest.approx(gap)
