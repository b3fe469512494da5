"""Analyses replay what the decoder does, and say so of every way to choose a draft."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch

from ngram.rows.backoff import END, build
from ngram.rows.rows import Rows, Vocabulary
from ngram.training.counts import count_ngrams
from ngram.training.smoothers import KneserNey, estimate
from reference.drafter import Drafter
from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.policies import Fixed
from reference.records import Stopping
from studies.blockwise.analysis import analyse
from studies.blockwise.best_paths import Automaton
from studies.blockwise.heads import Heads, HeadsDrafter
from studies.blockwise.measures import (
    accepted,
    calls_of,
    correlation,
    h_max,
    longest_runs,
    oracle,
    repeats,
    target_calls,
    tuned,
)
from studies.blockwise.records import Interval, Weighted
from studies.blockwise.rescoring import GlobalRescoring, LatticeDrafter, LocalRescoring
from studies.blockwise.texts import (
    BlockText,
    Drafts,
    block_text,
    local_drafts,
    path_drafts,
)
from studies.blockwise.training import heads_loss, states_and_logits, tokens_ahead
from tests.estimator.pairs import PROMPTS, VOCABULARY, tiny_llama
from tests.reference.decoding import speculate

GREEDY = Sampling(0.0)
K, HEADS, TOKENS, WEIGHT = 4, 4, 30, 0.8


@pytest.fixture(scope="module")
def target() -> CausalModel:
    return tiny_llama(seed=0, name="target", layers=2)


@pytest.fixture(scope="module")
def drafter(target: CausalModel) -> HeadsDrafter:
    """Heads that were shown the target's texts a little."""
    torch.manual_seed(3)
    heads = Heads(heads=HEADS, width=32, hidden=24)
    embedding = target.module.get_output_embeddings()
    ids = torch.randint(VOCABULARY, (30, 3), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        for _ in range(40):
            logits = target.module(ids).logits[:, -1]
            ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
        states, _ = states_and_logits(target.module, ids)
    ahead = tokens_ahead(ids, HEADS)
    optimizer = torch.optim.Adam(heads.parameters(), lr=1e-2)
    for _ in range(60):
        inside = states[:, : ahead.shape[1]].flatten(0, 1)
        loss = heads_loss(heads, embedding, inside, ahead.flatten(0, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return HeadsDrafter(target, heads.eval(), embedding, GREEDY, name="heads")


@pytest.fixture(scope="module")
def automaton() -> Automaton:
    source = np.random.default_rng(4)
    words = np.append(source.integers(1, VOCABULARY, size=600), END).astype(np.int32)
    grams = estimate(count_ngrams(words, 2), KneserNey(), prune=(0, 0))[0]
    return Automaton(Rows(build(grams, source="a test"), Vocabulary(VOCABULARY, end=0)))


@pytest.fixture(scope="module")
def texts(target: CausalModel, drafter: HeadsDrafter) -> list[BlockText]:
    found = [block_text(target, drafter, p, stopping=Stopping(TOKENS), k=K) for p in PROMPTS]
    return [text for text in found if text is not None]


def small() -> CausalModel:
    return tiny_llama(seed=0, noise=0.05, name="small", layers=2)


def best_paths(rows: Automaton | None, count: int) -> Callable[[BlockText], Drafts]:
    """Returns the function from a text to the best paths of its lattices."""
    return lambda text: path_drafts(text, [WEIGHT], automaton=rows, count=count)[0]


def test_every_way_to_draft_is_replayed_as_it_is_decoded(
    target: CausalModel, drafter: HeadsDrafter, automaton: Automaton, texts: list[BlockText]
) -> None:
    """Token for token: calls along the text are the decoder's, whose output is the target's own."""
    ways: dict[str, tuple[Drafter, Callable[[BlockText], Drafts]]] = {
        "heads": (drafter, lambda text: text.arcs[:, :, 0]),
        "local": (
            LatticeDrafter(
                drafter, LocalRescoring(small(), VOCABULARY, weight=WEIGHT), k=K, name="local"
            ),
            lambda text: local_drafts(text, [WEIGHT], model=small())[0],
        ),
    }
    for by, rows in (("base", None), ("2-gram", automaton)):
        for count in (1, 5):
            rescoring = GlobalRescoring(rows, weight=WEIGHT, count=count)
            ways[f"{by}, p = {count}"] = (
                LatticeDrafter(drafter, rescoring, k=K, name=by),
                best_paths(rows, count),
            )
    calls = {}
    for name, (chosen, drafts_of) in ways.items():
        calls[name] = 0
        for prompt, text in zip(PROMPTS, texts, strict=True):
            policy, stopping = Fixed(HEADS - 1), Stopping(TOKENS)
            generation = speculate(target, chosen, prompt, GREEDY, policy, stopping)
            assert list(generation.tokens[1:]) == text.tokens.tolist()
            # The decoder's first block has only the text's first token.
            assert len(generation.blocks[0].tokens) == 1
            counted = target_calls(accepted(drafts_of(text), text.ahead()))
            assert counted == len(generation.blocks) - 1
            calls[name] += counted
    assert len(set(calls.values())) > 3
    assert calls["2-gram, p = 5"] <= calls["2-gram, p = 1"]


def test_an_analysis_agrees_with_the_replay_of_each_way(
    automaton: Automaton, texts: list[BlockText]
) -> None:
    result = analyse(texts[:1], texts[1:], ngrams={"2-gram": automaton}, neural=small(), k=K)
    variants = {way.name: way for way in result.variants}
    assert list(variants) == [
        "base", "2-gram", "neural", "parallel base", "parallel 2-gram", "oracle k=4"
    ]  # fmt: skip
    tokens = sum(len(text.tokens) for text in texts[1:])
    assert result.tokens == tokens
    for name, chosen in (("2-gram", 1), ("parallel 2-gram", 16)):
        weight = result.tuning["2-gram"].best_weight
        calls = sum(
            target_calls(accepted(drafts, text.ahead()))
            for text in texts[1:]
            for drafts in path_drafts(text, [weight], automaton=automaton, count=chosen)
        )
        assert variants[name].block_efficiency == tokens / calls
        assert variants[name].low <= tokens / calls <= variants[name].high
    assert variants["base"].change_percent == 0
    oracles = [row.block_efficiency for row in result.oracle]
    assert [row.k for row in result.oracle] == [1, 2, 3, 4]
    assert oracles[0] == variants["base"].block_efficiency
    assert oracles == sorted(oracles)
    assert oracles[-1] == variants["oracle k=4"].block_efficiency
    assert max(row.block_efficiency for row in result.parallel) <= oracles[-1]
    first = {row.name: row for row in result.parallel if row.p == 1}
    assert first["parallel base"].block_efficiency == oracles[0]
    assert [row.name for row in result.by_heads] == ["3"]
    wins = result.wins["2-gram"]
    assert wins.ties + wins.wins + wins.losses == tokens
    assert len(result.acceptance_by_head) == HEADS - 1


def test_the_weight_is_the_one_of_the_largest_block_efficiency(
    automaton: Automaton, texts: list[BlockText]
) -> None:
    drafts_of = partial(path_drafts, automaton=automaton, count=1)
    found = tuned(texts, drafts_of, weights=(0.0, 1.0, 20.0))
    for row, weight in zip(found.rows, (0.0, 1.0, 20.0), strict=True):
        lengths = [accepted(drafts_of(text, [weight])[0], text.ahead()) for text in texts]
        tokens = sum(len(text.tokens) for text in texts)
        assert row == Weighted(weight, tokens / int(calls_of(lengths).sum()))
    assert tuned(texts, lambda text, weights: [text.arcs[:, :, 0]] * 3, (2, 1, 3)).best_weight == 1


def test_correlation_is_pearsons_and_null_where_nothing_varies() -> None:
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5])
    found = correlation(x, y)
    assert found.value == pytest.approx(0.8)
    assert found.low < 0.8 < found.high <= 1
    assert correlation(np.ones(5), y) == Interval(None, None, None)


def test_a_text_of_one_token_has_no_block(target: CausalModel, drafter: HeadsDrafter) -> None:
    assert block_text(target, drafter, [1], stopping=Stopping(1), k=K) is None


def test_a_draft_stands_up_to_its_first_wrong_token() -> None:
    drafts = np.array([[1, 2, 3], [1, 9, 3], [9, 2, 3], [1, 2, 9]])
    ahead = np.array([[1, 2, 3]] * 4)
    assert accepted(drafts, ahead).tolist() == [3, 1, 0, 2]


def test_of_several_drafts_the_one_that_stands_longest_counts() -> None:
    drafts = np.array([[[9, 2, 3], [1, 2, 9], [1, 9, 3]]])
    assert accepted(drafts, np.array([[1, 2, 3]])).tolist() == [2]


def test_tokens_beyond_the_text_are_never_accepted() -> None:
    assert accepted(np.array([[1, 2, 0]]), np.array([[1, 2, -1]])).tolist() == [2]


def test_the_oracle_goes_on_while_the_texts_token_is_in_the_lattice() -> None:
    tokens = np.array([[[5, 1], [2, 6], [7, 8]]])
    ahead = np.array([[1, 2, 3]])
    assert oracle(tokens, ahead, 2).tolist() == [2]
    assert oracle(tokens, ahead, 1).tolist() == [0]


@pytest.mark.parametrize(
    ("lengths", "calls"), [([], 0), ([0], 1), ([0, 0, 0], 3), ([2, 0, 0], 1), ([1, 0, 5, 0], 2)]
)
def test_a_call_emits_the_accepted_tokens_and_one_more(lengths: list[int], calls: int) -> None:
    assert target_calls(np.array(lengths, np.int64)) == calls


def test_repetition_counts_from_the_first_heads_own_token() -> None:
    drafts = np.array([[4, 4, 5], [1, 2, 2], [7, 8, 9]])
    repeated = repeats(drafts, np.array([4, 3, 3]))
    assert repeated.tolist() == [
        [True, True, False], [False, False, True], [False, False, False]
    ]  # fmt: skip
    assert longest_runs(repeated).tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("entropy", "heads"),
    [([1, 2, 3, 4], 4), ([1, 2, 1.5, 4], 2), ([2, 1, 3, 4], 1), ([1, 2, 2, 3], 4), ([5], 1)],
)
def test_h_max_is_where_mean_entropy_stops_rising(entropy: list[float], heads: int) -> None:
    """As defined in section 6.2, whose inequality is not strict."""
    assert h_max(np.array([entropy, entropy], float)) == heads
