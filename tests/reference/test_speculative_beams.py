"""Speculative beam search finds what transformers' beam search finds, scores included."""

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from reference.beams import Beams, BeamSearch, BeamSettings, beam_search, step
from reference.models.cached_model import CachedModel
from reference.models.huggingface import load_model
from reference.models.text_tree import TextTree
from tests.reference.plain_laws import random_table
from tests.reference.tabular import Table, TabularModel
from tests.reference.test_decoder_architectures import random_prompt, saved_pair
from tests.reference.tiny_models import with_noise

CPU = torch.device("cpu")
# The sums of up to 12 float32 log-probabilities, in another order of passes.
TOLERANCE = 1e-4
Pair = tuple[CachedModel, CachedModel]


def generated(
    target: CachedModel, prompt: Sequence[int], search: BeamSettings
) -> list[tuple[Any, Any]]:
    """Returns the sequences and scores of transformers' own beam search."""
    ids = torch.tensor([list(prompt)])
    output = target.module.generate(
        ids, attention_mask=torch.ones_like(ids), num_beams=search.width,
        num_return_sequences=search.width, do_sample=False, max_new_tokens=search.max_new_tokens,
        eos_token_id=sorted(search.end_ids) or None, pad_token_id=0, early_stopping=False,
        length_penalty=search.length_penalty, return_dict_in_generate=True, output_scores=True,
    )  # fmt: skip
    begun = len(target.beginning(prompt))
    found = []
    for sequence, score in zip(output.sequences, output.sequences_scores.tolist(), strict=True):
        tokens = sequence[begun:].tolist()
        # Tokens after an end of text are padding.
        ends = [place for place, token in enumerate(tokens) if token in search.end_ids]
        found.append((tuple(tokens[: ends[0] + 1] if ends else tokens), score))
    return found


def require_same(found: BeamSearch, expected: list[tuple[Any, Any]]) -> None:
    assert len(found.beams) == len(expected)
    for beam, (tokens, score) in zip(found.beams, expected, strict=True):
        assert beam.tokens == tokens
        assert beam.score == pytest.approx(score, abs=TOLERANCE)


SEARCHES = {
    "plain": BeamSettings(3, 10),
    "ends": BeamSettings(3, 12),
    "long favoured": BeamSettings(2, 12, length_penalty=2.0),
}


# By the prompt's length: the draft's width, in widths of the search, and gamma.
DRAFTED = {1: ((1, 1), (4, 6)), 9: ((2, 3), (4, 6))}
BRANCHING = ["Llama", "GPT2", "GPTNeoX", "Qwen3"]
OTHERS = [name for name in SEARCHES if name != "plain"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Pair]:
    """Returns the pair of an architecture, made once."""
    return functools.cache(lambda name: saved_pair(name, tmp_path_factory.mktemp(name), 1))


@pytest.mark.parametrize(
    ("architecture", "name"),
    # Architectures differ in their passes, searches in what they keep of these.
    [*((name, "plain") for name in [*BRANCHING, "Mistral"]), *(("Llama", n) for n in OTHERS)],
)
def test_beams_are_those_of_generate(
    architecture: str, name: str, pairs: Callable[[str], Pair]
) -> None:
    search = SEARCHES[name]
    target, draft = pairs(architecture)
    assert TextTree(target).branches is (architecture in BRANCHING)
    ended = 0
    fewer = False
    for length in DRAFTED:
        prompt = random_prompt(length, 3)
        if name != "plain":
            # Ends of text that the best beams come to.
            going = beam_search(target, prompt, search=SEARCHES[name])
            ends = {token for beam in going.beams for token in beam.tokens[2:4]}
            search = replace(search, end_ids=frozenset(ends))
        expected = generated(target, prompt, search)
        alone = beam_search(target, prompt, search=search)
        require_same(alone, expected)
        assert alone.target_calls == alone.steps
        for wide, gamma in DRAFTED[length]:
            found = beam_search(
                target, prompt, search=search, draft=draft, draft_width=wide * search.width,
                gamma=gamma,
            )  # fmt: skip
            require_same(found, expected)
            assert found.steps == alone.steps
            fewer = fewer or found.target_calls < alone.target_calls
        ended += sum(len(beam.tokens) < search.max_new_tokens for beam in alone.beams)
    assert fewer
    if name == "ends":
        assert ended > 0


def test_beams_of_t5_are_those_of_generate(tmp_path: Path) -> None:
    """An encoder-decoder reads no tree: path by path, with the same result."""
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    module = T5ForConditionalGeneration(
        T5Config(
            vocab_size=50, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2,
            initializer_factor=1.5, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
        )
    )  # fmt: skip
    module.save_pretrained(tmp_path / "target")
    with_noise(module, 0.004)
    module.save_pretrained(tmp_path / "draft")
    target, draft = (load_model(str(tmp_path / role), device=CPU) for role in ("target", "draft"))
    assert not TextTree(target).branches
    for search in (BeamSettings(3, 10, frozenset({1})), BeamSettings(2, 12, frozenset({1, 8, 30}))):
        prompt = random_prompt(7, 1)
        expected = generated(target, prompt, search)
        found = beam_search(target, prompt, search=search, draft=draft, draft_width=6, gamma=3)
        require_same(found, expected)
        require_same(beam_search(target, prompt, search=search), expected)
        assert found.target_calls < found.steps


def searched(
    target: Table, draft: Table, vocabulary: int, search: BeamSettings, width: int, gamma: int
) -> BeamSearch:
    """Returns a search of a table, drafted by another, after token 1."""
    model, drafting = (TabularModel(table, vocabulary) for table in (target, draft))
    return beam_search(model, [1], search=search, draft=drafting, draft_width=width, gamma=gamma)


def exhaustive(table: Table, vocabulary: int, tokens: int) -> list[tuple[Any, float]]:
    """Returns all continuations of token 1 with their mean log-probabilities, the best first."""
    found = []
    for text in itertools.product(range(vocabulary), repeat=tokens):
        rows = [torch.tensor(table([1, *text[:at]])).log() for at in range(tokens)]
        found.append((text, sum(float(row[x]) for row, x in zip(rows, text, strict=True)) / tokens))
    return sorted(found, key=lambda each: -each[1])


def test_wide_beams_find_the_likeliest_texts_of_all() -> None:
    table = random_table(1, 4)
    found = searched(table, random_table(2, 4), 4, BeamSettings(2, 2), 4, 2)
    # Two of the four first tokens run on; in this table they lead to the two best texts.
    best = exhaustive(table, 4, 2)[:2]
    assert [beam.tokens for beam in found.beams] == [text for text, _ in best]
    assert [beam.score for beam in found.beams] == pytest.approx([score for _, score in best])


def test_a_perfect_draft_is_covered_at_every_step() -> None:
    table = random_table(3, 6)
    found = searched(table, table, 6, BeamSettings(3, 13), 3, 3)
    assert [block.steps for block in found.blocks] == [4, 4, 4, 1]
    assert found.covered == found.judged == 9
    assert [block.drafted for block in found.blocks] == [3, 3, 3, 0]


def test_a_perfect_draft_is_covered_where_ends_of_text_end_a_search_within_it() -> None:
    within, search = 0, BeamSettings(2, 12, end_ids=frozenset({0}))
    for seed in range(20):
        table = random_table(seed, 5)
        found = searched(table, table, 5, search, 2, 4)
        assert found.covered == found.judged
        within += found.blocks[-1].steps <= found.blocks[-1].drafted
    assert within > 0


def test_a_call_reads_the_beams_and_the_drafts() -> None:
    """w + u gamma tokens where the beams part at the last token, and what is not yet read."""
    table = random_table(3, 6)
    found = searched(table, table, 6, BeamSettings(2, 9), 4, 2)
    assert found.blocks[0].fed == 1 + 4 + 4
    assert all(block.fed >= 2 + 4 * block.drafted for block in found.blocks[1:])


def test_proposals_change_only_the_number_of_calls() -> None:
    search = BeamSettings(2, 10, frozenset({3}))
    searches = [
        searched(random_table(4, 5), random_table(seed, 5), 5, search, width, 4)
        for seed in (4, 5, 6)
        for width in (2, 4)
    ]
    assert len({tuple(beam.tokens for beam in found.beams) for found in searches}) == 1
    assert len({found.target_calls for found in searches}) > 1


def test_bad_searches_are_refused() -> None:
    model = TabularModel(random_table(1, 4), 4)
    with pytest.raises(ValueError, match="draft_beams must be at least beams, 3, got 2"):
        beam_search(model, [0], search=BeamSettings(3, 4), draft=model, draft_width=2, gamma=1)
    with pytest.raises(ValueError, match="gamma must be at least 0, got -1"):
        beam_search(model, [0], search=BeamSettings(1, 4), draft=model, draft_width=2, gamma=-1)
    with pytest.raises(ValueError, match="beams must be at least 1, got 0"):
        BeamSettings(0, 4)
    with pytest.raises(ValueError, match="max_new_tokens must be at least 1, got 0"):
        BeamSettings(1, 0)
    with pytest.raises(
        ValueError, match="beams must leave 6 continuations to choose among, got 4 of 4 tokens"
    ):
        step(Beams(), {(): torch.zeros(4)}, BeamSettings(3, 4))
