"""Drafting with n-grams, with lookup and with both leaves the target's law as it is.

The whole laws of generated texts, enumerated; and replay against the decoder at temperature 0.
"""

import functools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from ngram.drafters import CopyingDrafter, LookupThenNgram, NgramDrafter, PromptLookupDrafter
from ngram.indexes import Suffixes
from ngram.rows.rows import Rows, Vocabulary
from reference.drafter import Drafter, text_laws
from reference.laws import OneHot, Sampling
from reference.policies import Fixed
from reference.records import Stopping
from reference.scoring import Scores
from simulator.acceptance.replay import Replay
from tests.ngram.corpora import random_texts, trained_model
from tests.reference.decoding import alone, scored, speculate
from tests.reference.enumeration import STRICT_ACCEPTANCE, require_own_law, walk_choices
from tests.reference.plain_laws import random_table
from tests.reference.tabular import TabularModel

CPU = torch.device("cpu")
VOCABULARY = 3
END = 2
PROMPT = [0, 1]
NEW_TOKENS = 3
TARGET = random_table(5, VOCABULARY, remembered=3)
MODEL = TabularModel(TARGET, VOCABULARY)
GREEDY = Sampling(0.0)
TEXTS = random_texts(1, words=2, texts=20)
SETTINGS = {
    "plain": Sampling(),
    "greedy": Sampling(0.0),
    "top-k": Sampling(1.3, top_k=2),
    "top-p": Sampling(0.7, top_p=0.8),
    "repetition penalty": Sampling(repetition_penalty=1.8),
}


# Sampling settings for each drafter's enumeration; plain and greedy for drafters not named.
TRIED = {
    "trigram": ("plain", "greedy", "repetition penalty"),
    "both": ("plain", "greedy", "top-p"),
    "unigram": ("greedy", "top-k"),
    "lookup of one": ("top-p",),
}


def ngram_drafter(order: int, sampling: Sampling) -> NgramDrafter:
    rows = Rows(trained_model(TEXTS, order), Vocabulary(VOCABULARY, end=END))
    return NgramDrafter(rows, sampling, device=CPU, name="ngram")


def lookup(longest: int = 2) -> PromptLookupDrafter:
    return PromptLookupDrafter(device=CPU, longest=longest)


DRAFTERS: dict[str, Callable[[Sampling], Drafter]] = {
    "unigram": lambda sampling: ngram_drafter(1, sampling),
    "bigram": lambda sampling: ngram_drafter(2, sampling),
    "trigram": lambda sampling: ngram_drafter(3, sampling),
    "greedy trigram": lambda _: ngram_drafter(3, Sampling(0.0)),
    "lookup": lambda _: lookup(),
    "lookup of one": lambda _: lookup(1),
    "suffixes": lambda _: CopyingDrafter(lambda: Suffixes(4), name="suffix", device=CPU),
    "both": lambda sampling: LookupThenNgram(lookup(), ngram_drafter(2, sampling)),
}


@pytest.mark.parametrize(
    ("drafter", "setting"),
    [
        (drafter, setting)
        for drafter in DRAFTERS
        for setting in SETTINGS
        if setting in TRIED.get(drafter, ("plain", "greedy"))
    ],
)
def test_law_of_texts_is_the_targets(
    drafter: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampling = SETTINGS[setting]
    made, stopping = DRAFTERS[drafter](sampling), Stopping(NEW_TOKENS)
    target = TabularModel(TARGET, VOCABULARY)
    law = walk_choices(monkeypatch, STRICT_ACCEPTANCE).law(
        lambda: speculate(target, made, PROMPT, sampling, Fixed(2), stopping).tokens
    )
    # Rows are float32.
    require_own_law(law, TARGET, sampling, PROMPT, new_tokens=NEW_TOKENS, tolerance=1e-6)


def scores(
    drafter: Drafter,
    prompt: Sequence[int],
    continuation: Sequence[int],
    gamma: int,
    sampling: Sampling = GREEDY,
    target: TabularModel = MODEL,
) -> Scores:
    return scored(target, drafter, prompt, continuation, gamma, sampling)


def by_block(acceptance: torch.Tensor) -> np.ndarray:
    """Returns acceptances by the block's start, written out."""
    positions, offsets = acceptance.shape
    blocks = np.zeros((positions, offsets))
    for start in range(positions):
        for offset in range(min(offsets, positions - start)):
            blocks[start, offset] = acceptance[start + offset, offset]
    return blocks


@functools.cache
def greedy_text(prompt: tuple[int, ...]) -> tuple[int, ...]:
    return alone(TabularModel(TARGET, VOCABULARY), prompt, GREEDY, Stopping(40)).tokens


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("gamma", [1, 2, 3, 5, 8])
def test_replay_counts_the_decoders_calls_at_temperature_0(drafter: str, gamma: int) -> None:
    for prompt in ([0], [0, 1, 0, 1], [2, 1, 2], [1, 1, 0, 2, 1, 0, 2]):
        made, target = DRAFTERS[drafter](GREEDY), TabularModel(TARGET, VOCABULARY)
        decoded = speculate(target, made, prompt, GREEDY, Fixed(gamma), Stopping(40))
        assert decoded.tokens == greedy_text(tuple(prompt))
        found = scores(made, prompt, decoded.tokens, 8)
        drafted, rates = None, found.acceptance.numpy()
        if found.drafted is not None:
            drafted, rates = found.drafted.numpy(), by_block(found.acceptance)
        calls = Replay(rates, drafted=drafted).calls(gamma)
        assert calls == len(decoded.blocks)


@pytest.mark.parametrize("setting", ["plain", "repetition penalty"])
def test_the_ngrams_scores_are_of_the_laws_it_drafts_from(setting: str) -> None:
    sampling = SETTINGS[setting]
    drafter = ngram_drafter(3, sampling)
    target = TabularModel(TARGET, VOCABULARY)
    continuation = [1, 0, 2, 2, 1]
    text = target.start(PROMPT)
    [p] = text_laws(target, text, continuation, [sampling])
    found = scores(drafter, PROMPT, continuation, 4, sampling)
    for place, token in enumerate(continuation):
        before = [*PROMPT, *continuation[:place]]
        draft = drafter.propose(before, 1, Fixed(1), torch.Generator().manual_seed(place))
        q = draft.q.dense(VOCABULARY)[0].double()
        own = p.dense(VOCABULARY)[place].double()
        assert found.beta[place] == pytest.approx(float(torch.minimum(own, q).sum()), abs=1e-6)
        expected = min(1.0, float(q[token] / own[token]))
        assert found.acceptance[place] == pytest.approx(expected, abs=1e-6)
    assert found.drafted is None


def test_the_lookups_scores_are_by_block_start() -> None:
    prompt, continuation = [0, 1, 2, 0], [1, 2, 3, 0, 1]
    target = TabularModel(random_table(5, 4), 4)
    text = target.start(prompt)
    [p] = text_laws(target, text, continuation, [Sampling()])
    found = scores(lookup(), prompt, continuation, 3, Sampling(), target)
    # Drafts from each start: after 0 comes 1 2 0; after 1, 2 0 1; after 2, 0 1 2; 3 is new; then
    # the match of 0 is the latest, in 2 0 1 2 3.
    assert found.drafted is not None
    assert found.drafted.tolist() == [3, 3, 3, 0, 3]
    np.testing.assert_array_equal(
        by_block(found.acceptance), [[1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]]
    )
    own = p.dense(VOCABULARY).double()
    expected = [own[0, 1], own[1, 2], own[2, 0], 0.0, own[4, 1]]
    torch.testing.assert_close(found.beta, torch.tensor([float(x) for x in expected]).double())


def test_both_score_as_the_one_that_drafts() -> None:
    prompt, continuation = [0, 1], [2, 0, 1, 1, 2]
    both = LookupThenNgram(lookup(), ngram_drafter(2, GREEDY))
    mixed = scores(both, prompt, continuation, 3)
    copied = scores(lookup(), prompt, continuation, 3)
    modelled = scores(ngram_drafter(2, GREEDY), prompt, continuation, 3)
    assert copied.drafted is not None
    assert mixed.drafted is not None
    matched = copied.drafted > 0
    assert matched.tolist() == [False, False, True, True, True]
    assert mixed.drafted.tolist() == [3, 3, 3, 3, 3]
    own, copies = by_block(mixed.acceptance), by_block(copied.acceptance)
    for start in range(len(continuation)):
        along = [*modelled.acceptance[start:].tolist(), 0, 0, 0][:3]
        expected = copies[start].tolist() if matched[start] else along
        assert own[start].tolist() == expected
        assert mixed.beta[start] == (copied if matched[start] else modelled).beta[start]


def test_one_hot_drafts_hold_no_rows() -> None:
    draft = lookup().propose([1, 2, 1], 2, Fixed(2), torch.Generator())
    assert isinstance(draft.q, OneHot)
    assert draft.tokens.tolist() == [2, 1]
