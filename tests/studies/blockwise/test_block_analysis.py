"""Analyses replay what the decoder does, and say so of every way to choose a draft."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from decoding import speculate
from pairs import PROMPTS, VOCABULARY, tiny_llama

from ngram.rows.backoff import build
from ngram.rows.rows import Rows
from ngram.rows.words import END, Vocabulary
from ngram.training.counts import count_ngrams
from ngram.training.estimate import estimate
from ngram.training.smoothers import KneserNey
from reference.drafter import Drafter
from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.policies import Fixed
from reference.records import Stopping
from studies.blockwise.analysis import analyse
from studies.blockwise.heads import Heads, HeadsDrafter
from studies.blockwise.lattice.automaton import Automaton
from studies.blockwise.lattice.drafter import GlobalRescoring, LatticeDrafter, LocalRescoring
from studies.blockwise.measures import (
    accepted,
    best_weight,
    calls_of,
    correlation,
    target_calls,
    tuned,
)
from studies.blockwise.records import Interval, Weighted
from studies.blockwise.texts import (
    BlockText,
    Drafts,
    block_text,
    heads_drafts,
    local_drafts,
    path_drafts,
)
from studies.blockwise.training import heads_loss, states_and_logits, tokens_ahead

GREEDY = Sampling(0.0)
K, HEADS, TOKENS, WEIGHT = 4, 4, 30, 0.8


@pytest.fixture(scope="module")
def target() -> CausalModel:
    return tiny_llama(seed=0, name="target")


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
    return tiny_llama(seed=0, noise=0.05, name="small")


def test_every_way_to_draft_is_replayed_as_it_is_decoded(
    target: CausalModel, drafter: HeadsDrafter, automaton: Automaton, texts: list[BlockText]
) -> None:
    """Token for token: calls along the text are the decoder's, whose output is the target's own."""
    ways: dict[str, tuple[Drafter, Callable[[BlockText], Drafts]]] = {
        "heads": (drafter, heads_drafts),
        "local": (
            LatticeDrafter(
                drafter, LocalRescoring(small(), VOCABULARY, weight=WEIGHT), k=K, name="local"
            ),
            lambda text: local_drafts(text, small(), WEIGHT),
        ),
        **{
            f"{by}, p = {count}": (
                LatticeDrafter(
                    drafter, GlobalRescoring(rows, weight=WEIGHT, count=count), k=K, name=by
                ),
                lambda text, rows=rows, count=count: path_drafts(text, rows, [WEIGHT], count=count)[
                    0
                ],
            )
            for by, rows in (("base", None), ("2-gram", automaton))
            for count in (1, 5)
        },
    }
    calls = {}
    for name, (chosen, drafts_of) in ways.items():
        calls[name] = 0
        for prompt, text in zip(PROMPTS, texts, strict=True):
            generation = speculate(
                target, chosen, prompt, GREEDY, Fixed(HEADS - 1), Stopping(TOKENS)
            )
            assert list(generation.tokens[1:]) == text.tokens.tolist()
            lengths = accepted(drafts_of(text), text.ahead())
            # The decoder's first block has only the text's first token.
            assert len(generation.blocks[0].tokens) == 1
            counted = target_calls(lengths)
            assert counted == len(generation.blocks) - 1
            calls[name] += counted
    assert len(set(calls.values())) > 3
    assert calls["2-gram, p = 5"] <= calls["2-gram, p = 1"]


def test_a_weight_of_zero_leaves_the_heads_and_a_large_one_does_not(
    texts: list[BlockText],
) -> None:
    assert np.array_equal(local_drafts(texts[0], small(), 0.0), heads_drafts(texts[0]))
    assert not np.array_equal(local_drafts(texts[0], small(), 5.0), heads_drafts(texts[0]))


def test_an_analysis_says_what_the_replay_of_each_way_says(
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
            target_calls(accepted(path_drafts(t, automaton, [weight], count=chosen)[0], t.ahead()))
            for t in texts[1:]
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
    def drafts_of(text: BlockText, weights: Sequence[float]) -> list[Drafts]:
        return path_drafts(text, automaton, weights, count=1)

    found = tuned(texts, drafts_of, weights=(0.0, 1.0, 20.0))
    for row, weight in zip(found.rows, (0.0, 1.0, 20.0), strict=True):
        lengths = [accepted(drafts_of(text, [weight])[0], text.ahead()) for text in texts]
        tokens = sum(len(text.tokens) for text in texts)
        assert row == Weighted(weight, tokens / int(calls_of(lengths).sum()))
    assert best_weight([Weighted(2, 1.5), Weighted(1, 1.5), Weighted(3, 1.4)]) == 1


def test_correlation_is_pearsons_and_null_where_nothing_varies() -> None:
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5])
    found = correlation(x, y)
    assert found.value == pytest.approx(0.8)
    assert found.low < 0.8 < found.high <= 1
    assert correlation(np.ones(5), y) == Interval(None, None, None)


def test_a_text_of_one_token_has_no_block(target: CausalModel, drafter: HeadsDrafter) -> None:
    assert block_text(target, drafter, [1], stopping=Stopping(1), k=K) is None
