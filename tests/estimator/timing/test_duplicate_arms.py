"""Twins of a pair decode as the pair does, apart from it and from the same weights."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from transformers import T5Config, T5ForConditionalGeneration

from estimator.timing.turns import Pair, decode_in_turns, duplicates
from ngram.drafters import LookupThenNgram, NgramDrafter, PromptLookupDrafter
from ngram.rows.rows import Rows, Vocabulary
from reference.drafter import Drafter
from reference.drafters.model_drafter import HierarchicalDrafter, ModelDrafter, RandomDrafter
from reference.drafters.trees import TreeDrafter, without_replacement
from reference.laws import Sampling, seeded
from reference.models.architectures import EncoderDecoderModel, early_exit
from reference.models.cached_model import CachedModel
from reference.models.compiled_model import CompiledModel
from reference.policies import Fixed
from reference.records import Stopping
from reference.speculative import Session, Subject, speculative_session
from studies.blockwise.heads import Heads, HeadsDrafter
from tests.estimator.pairs import PROMPTS, VOCABULARY, tiny_llama, tiny_pair
from tests.ngram.corpora import random_texts, trained_model

CPU = torch.device("cpu")
SAMPLING = Sampling(0.7)
GAMMAS = (0, 1, 2, 4)
ROWS = Rows(
    trained_model(random_texts(1, words=VOCABULARY - 1), 3),
    Vocabulary(VOCABULARY, end=VOCABULARY - 1),
)


def of_model(target: CachedModel) -> ModelDrafter:
    draft = tiny_llama(seed=0, noise=0.03, name="draft")
    return ModelDrafter(draft, SAMPLING, target.vocabulary)


def ngram(_: CachedModel) -> NgramDrafter:
    return NgramDrafter(ROWS, SAMPLING, device=CPU, name="ngram")


def lookup(_: CachedModel) -> PromptLookupDrafter:
    return PromptLookupDrafter(device=CPU, longest=2)


def heads(target: CachedModel) -> HeadsDrafter:
    torch.manual_seed(2)
    made = Heads(heads=4, width=32, hidden=4).eval()
    embedding: nn.Module = target.module.get_output_embeddings()
    return HeadsDrafter(target, made, embedding, SAMPLING, name="heads")


DRAFTERS: dict[str, Callable[[CachedModel], Drafter]] = {
    "model": of_model,
    "ngram": ngram,
    "lookup": lookup,
    "lookup+ngram": lambda target: LookupThenNgram(lookup(target), ngram(target)),
    "random": lambda target: RandomDrafter(target.vocabulary, CPU),
    "heads": heads,
    "tree": lambda target: TreeDrafter(of_model(target), (-1, -1, 0, 0, 1), without_replacement),
    "hierarchy": lambda target: HierarchicalDrafter(of_model(target), lookup(target), 2),
    "exit": lambda target: ModelDrafter(early_exit(target, 1), SAMPLING, target.vocabulary),
}


def t5(*, layers: int) -> EncoderDecoderModel:
    torch.manual_seed(layers)
    config = T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=32, num_layers=layers, num_heads=2,
        decoder_start_token_id=0, eos_token_id=None,
    )  # fmt: skip
    return EncoderDecoderModel(T5ForConditionalGeneration(config), f"t5 of {layers}")


def begin(pair: Pair, gamma: int, prompt: int = 2) -> Session:
    subject = Subject(*pair, SAMPLING, Stopping(14))
    return speculative_session(subject, PROMPTS[prompt], Fixed(gamma), seeded(CPU, gamma))


def assert_alike_in_turns(pair: Pair) -> None:
    """In turns, each draft length writes the same ids, drafts and blocks as by itself."""
    alone = [begin(pair, gamma).finished() for gamma in GAMMAS]
    pairs = duplicates(pair, len(GAMMAS), longer=1)
    assert len(pairs) == len(GAMMAS)
    for seed in range(2):
        starts = [partial(begin, *own) for own in zip(pairs, GAMMAS, strict=True)]
        together = decode_in_turns(starts, tokens=2, order=np.random.default_rng(seed))
        for own, (turned, _) in zip(alone, together, strict=True):
            assert turned.text == own.text
            assert [(b.drafted, b.tokens, b.accepted) for b in turned.blocks] == [
                (b.drafted, b.tokens, b.accepted) for b in own.blocks
            ]


@pytest.mark.parametrize("name", DRAFTERS)
def test_texts_in_turns_are_those_decoded_alone(name: str) -> None:
    target = tiny_llama(seed=0, name="target", layers=2 if name == "exit" else 1)
    drafter = DRAFTERS[name](target)
    assert_alike_in_turns((target, drafter))
    drafted = begin((target, drafter), 4).finished().drafted
    assert drafted > 0


def test_texts_of_encoder_decoders_in_turns_are_those_decoded_alone() -> None:
    target = t5(layers=2)
    assert_alike_in_turns((target, ModelDrafter(t5(layers=1), SAMPLING, VOCABULARY)))


def test_twins_share_modules_and_tables_and_nothing_that_changes() -> None:
    target = tiny_llama(seed=0)
    drafter = HierarchicalDrafter(of_model(target), ngram(target), 2)
    begin((target, drafter), 2).finished()
    [_, (twin, own)] = duplicates((target, drafter), 2, longer=1)
    assert isinstance(twin, CachedModel)
    assert isinstance(own, HierarchicalDrafter)
    assert twin.module is target.module
    assert isinstance(own.drafter, NgramDrafter)
    assert own.drafter.rows is ROWS
    assert twin.forward_seconds == 0.0 < target.forward_seconds
    before = target.length
    begin((twin, own), 2, prompt=0).finished()
    assert target.length == before != twin.length


def test_memory_bounds_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = tiny_pair(SAMPLING)
    begin(pair, 2).finished()
    monkeypatch.setattr("estimator.timing.turns.free_bytes", lambda _: 0.0)
    assert duplicates(pair, 5, longer=1) == [pair]
    # Two models of a layer; keys and values of 256 positions, 32 wide, in float32.
    held = 2 * 2 * 256 * 32 * 4
    # Half of the memory is for duplicates; the states of 14 tokens are small compared with caches.
    monkeypatch.setattr("estimator.timing.turns.free_bytes", lambda _: 2 * 3.5 * held)
    assert [len(duplicates(pair, 5, longer=longer)) for longer in (1, 3, 4)] == [4, 2, 1]


def test_a_compiled_model_has_no_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    # For any compiled programs.
    monkeypatch.setattr(torch, "compile", lambda module, **_: module)
    model = tiny_llama(seed=0)
    target = CompiledModel(model, longest=40, widths=(1, 3), backend="eager")
    pair = target, lookup(target)
    begin(pair, 2).finished()
    assert duplicates(pair, 3, longer=1) == [pair]
