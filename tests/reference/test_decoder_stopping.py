"""Where texts end: length, end-of-text ids in every place of a block, stop strings; streaming."""

import random
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast
from transformers.generation.stopping_criteria import StopStringCriteria

from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.huggingface import end_ids
from reference.policies import Fixed
from reference.records import Generation, Stopping, StopStrings
from reference.speculative import Subject, speculative_blocks, start
from tests.reference.decoding import alone, speculate_models
from tests.reference.tabular import TabularModel

VOCABULARY = 12
GREEDY = Sampling(0.0)


def one_hot(token: int) -> list[float]:
    return [float(token == other) for other in range(VOCABULARY)]


def counting(text: Sequence[int]) -> list[float]:
    """Counts up, from the last token, over the whole vocabulary."""
    return one_hot((text[-1] + 1) % VOCABULARY)


def slipping(every: int) -> TabularModel:
    """Returns a draft that counts, but is wrong before each multiple of `every`."""

    def table(text: Sequence[int]) -> list[float]:
        following = (text[-1] + 1) % VOCABULARY
        return one_hot(text[-1] if following % every == 0 else following)

    return TabularModel(table, VOCABULARY)


def run(
    stopping: Stopping,
    *,
    gamma: int,
    draft: TabularModel | None = None,
    prompt: Sequence[int] = (0,),
) -> Generation:
    target = TabularModel(counting, VOCABULARY)
    draft = TabularModel(counting, VOCABULARY) if draft is None else draft
    return speculate_models(target, draft, prompt, GREEDY, Fixed(gamma), stopping)


@pytest.mark.parametrize("gamma", [0, 1, 3, 7])
@pytest.mark.parametrize("new_tokens", [1, 2, 3, 9])
def test_the_most_tokens_are_emitted_and_never_more(new_tokens: int, gamma: int) -> None:
    for draft in (None, slipping(2), slipping(3)):
        generation = run(Stopping(new_tokens), gamma=gamma, draft=draft)
        assert generation.tokens == tuple(range(1, new_tokens + 1))
        assert generation.ending == "length"
        # The last token is the target's own: to draft it would be wasted.
        left = new_tokens
        for block in generation.blocks:
            assert len(block.drafted) < left
            left -= len(block.tokens)


@pytest.mark.parametrize("gamma", [0, 1, 3, 7])
@pytest.mark.parametrize("slip", [2, 3, 5, 13])
def test_a_text_ends_with_an_end_id_at_any_position_of_a_block(slip: int, gamma: int) -> None:
    for end in range(1, VOCABULARY):
        stopping = Stopping(40, frozenset({end, VOCABULARY + 5}))
        generation = run(stopping, gamma=gamma, draft=slipping(slip))
        assert generation.tokens == tuple(range(1, end + 1))
        assert generation.ending == "end of text"
        last = generation.blocks[-1]
        assert last.accepted <= len(last.tokens) <= last.accepted + 1
        assert all(block.ending is None for block in generation.blocks[:-1])


def test_tokens_beyond_the_limit_are_cut_off() -> None:
    stopping = Stopping(5, frozenset({9}))
    assert stopping.cut([0, 1, 2], [3, 4, 5, 6], emitted=2) == ([3, 4, 5], "length")
    assert stopping.cut([0, 1, 2], [3, 4], emitted=2) == ([3, 4], None)
    assert stopping.cut([0, 1, 2], [3, 4, 9], emitted=2) == ([3, 4, 9], "end of text")
    assert stopping.cut([0, 1, 2], [3, 4, 5, 9], emitted=2) == ([3, 4, 5], "length")


def test_drafts_beyond_the_end_are_neither_emitted_nor_accepted() -> None:
    generation = run(Stopping(40, frozenset({3})), gamma=7)
    (block,) = generation.blocks
    assert block.drafted == (1, 2, 3, 4, 5, 6, 7)
    assert block.tokens == (1, 2, 3)
    assert block.accepted == 3
    assert generation.accepted_fraction == 3 / 7


def test_a_rollback_is_a_drafted_token_that_the_targets_own_replaced() -> None:
    for end in range(1, VOCABULARY):
        for gamma in (1, 2, 4, 7):
            assert run(Stopping(40, frozenset({end})), gamma=gamma).rollbacks == 0
    # Wrong at 5 and 10; 11 ends the text, and what was drafted after it.
    generation = run(Stopping(40, frozenset({11})), gamma=5, draft=slipping(5))
    assert [(block.drafted, block.tokens) for block in generation.blocks] == [
        ((1, 2, 3, 4, 4), (1, 2, 3, 4, 5)),
        ((6, 7, 8, 9, 9), (6, 7, 8, 9, 10)),
        ((11, 11, 11, 11, 11), (11,)),
    ]
    assert generation.rollbacks == 2
    assert generation.discarded == 6


def test_token_zero_is_a_token_like_any_other() -> None:
    generation = run(Stopping(4), gamma=3, prompt=[VOCABULARY - 2])
    assert generation.tokens == (VOCABULARY - 1, 0, 1, 2)
    assert generation.accepted == 3
    assert run(Stopping(9, frozenset({0})), gamma=3, prompt=[9]).tokens == (10, 11, 0)
    # An end id in the prompt ends nothing.
    assert run(Stopping(3, frozenset({5})), gamma=2, prompt=[5, 5]).tokens == (6, 7, 8)


@pytest.mark.parametrize(
    ("configured", "of_tokenizer", "expected"),
    [
        (None, None, frozenset()),
        (None, 7, frozenset({7})),
        (0, None, frozenset({0})),
        (5, 7, frozenset({5})),
        ([5, 6], 7, frozenset({5, 6})),
    ],
)
def test_end_ids_may_be_none_one_or_many(
    configured: int | list[int] | None, of_tokenizer: int | None, expected: frozenset[int]
) -> None:
    module = SimpleNamespace(generation_config=SimpleNamespace(eos_token_id=configured))
    assert end_ids(module, SimpleNamespace(eos_token_id=of_tokenizer)) == expected


def test_fewer_than_one_new_token_is_refused() -> None:
    with pytest.raises(ValueError, match="max_new_tokens must be at least 1, got 0"):
        Stopping(0)


PIECES = ["a", "b", "st", "op", "stop", "opera", "sto", "pper", "topper", "las", "s", "to"]


def spelled(ids: Sequence[int]) -> str:
    return "".join(PIECES[token] for token in ids)


def stop_after(text: str, ids: Sequence[int], *, prompt: Sequence[int] = ()) -> int | None:
    return StopStrings((text,), spelled).completed(prompt, ids)


@pytest.mark.parametrize(
    ("pieces", "index"),
    [
        (["st", "op"], 1),
        (["stop"], 0),
        (["st", "opera"], 1),
        (["sto", "pper"], 1),
        (["las", "topper"], 1),
        (["s", "to", "pper"], 2),
        (["a", "stop", "b", "stop"], 1),
        (["st", "a", "op"], None),
        (["a", "b"], None),
    ],
)
def test_a_token_that_completes_a_stop_string_is_found(
    pieces: list[str], index: int | None
) -> None:
    ids = [PIECES.index(piece) for piece in pieces]
    # However the text is cut into blocks.
    for cut in range(len(ids)):
        if stop_after("stop", ids[:cut]) is None:
            found = stop_after("stop", ids[cut:], prompt=ids[:cut])
            assert found == (None if index is None else index - cut)


def test_a_stop_string_may_begin_in_the_prompt_but_not_lie_in_it() -> None:
    st, op, stop, a = (PIECES.index(piece) for piece in ("st", "op", "stop", "a"))
    assert stop_after("stop", [op], prompt=[a, st]) == 0
    assert stop_after("stop", [a, a], prompt=[stop]) is None
    assert stop_after("stop", [a, stop], prompt=[stop]) == 1
    # One that comes again at once is a new one.
    assert stop_after("aa", [a], prompt=[a, a]) == 0


def test_a_decoder_that_strips_a_texts_first_space_hides_no_stop_string() -> None:
    pieces = [" ", "a", "b"]
    strings = StopStrings(
        (" ab",), lambda ids: "".join(pieces[token] for token in ids).removeprefix(" ")
    )
    assert strings.completed([1, 1, 0, 1], [2]) == 0
    assert strings.completed([1, 1, 0], [1, 2]) == 1


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Returns a byte-level tokenizer of single bytes and some pairs of them."""
    letters = sorted(ByteLevel.alphabet())
    vocabulary = {letter: index for index, letter in enumerate(letters)}
    merges = [("s", "t"), ("o", "p"), ("st", "op"), ("Ġ", "s"), ("Ã", "©")]
    for first, second in merges:
        vocabulary[first + second] = len(vocabulary)
    tokenizer = Tokenizer(BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


@pytest.mark.parametrize("string", ["stop", " s", "é", "p", "sé", "ps"])
def test_texts_stop_where_transformers_own_criterion_stops_them(string: str) -> None:
    tokenizer = byte_tokenizer()
    criterion = StopStringCriteria(tokenizer, string)
    strings = StopStrings((string,), tokenizer.decode)
    pieces = ["s", "t", "o", "p", "st", "op", "stop", "Ġ", "Ġs", "Ã", "©", "Ã©", "a", "."]
    source = random.Random(string)
    found = 0
    for _ in range(80):
        ids = tokenizer.convert_tokens_to_ids(source.choices(pieces, k=12))
        prompt, new = ids[:2], ids[2:]
        ended = [
            criterion(torch.tensor([[*prompt, *new[: end + 1]]]), None).item() for end in range(10)
        ]
        expected = ended.index(True) if True in ended else None
        assert strings.completed(prompt, new) == expected
        found += expected is not None
    assert found > 3


@pytest.mark.parametrize("gamma", [0, 1, 3, 7])
@pytest.mark.parametrize(
    ("string", "last"),
    [("bst", 2), ("opst", 4), ("stop", 3), ("popera", 5), ("t", 2), ("lass", 10)],
)
def test_a_text_ends_with_the_token_that_completes_a_stop_string(
    string: str, last: int, gamma: int
) -> None:
    """The text goes a, b, st, op, stop, opera, ..."""
    stopping = Stopping(30, stop_strings=StopStrings((string, "zzz"), spelled))
    for slip in (3, 5, 13):
        generation = run(stopping, gamma=gamma, draft=slipping(slip))
        assert generation.tokens == tuple(range(1, last + 1))
        assert generation.ending == "stop string"


def test_the_first_ending_of_a_text_is_named() -> None:
    def ending(end: int, new_tokens: int) -> str | None:
        strings = StopStrings(("stop",), spelled)
        return run(Stopping(new_tokens, frozenset({end}), strings), gamma=7).ending

    # "stop" is complete with token 3; the text holds 1, 2, 3.
    assert ending(2, 9) == "end of text"
    assert ending(3, 9) == "end of text"
    assert ending(4, 9) == "stop string"
    assert ending(9, 3) == "stop string"
    assert ending(9, 2) == "length"


@pytest.mark.parametrize(
    ("strings", "message"),
    [
        ((), "stop strings must be at least one, got none"),
        (("",), "a stop string must have at least one character, got ''"),
        (("stop", ""), "a stop string must have at least one character, got ''"),
    ],
)
def test_stop_strings_of_nothing_are_refused(strings: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        StopStrings(strings, spelled)


def test_blocks_stream_as_they_are_made() -> None:
    passes = 0

    class Counted(TabularModel):
        def extend(
            self, tokens: torch.Tensor, parents: Sequence[int] | None = None
        ) -> torch.Tensor:
            nonlocal passes
            passes += 1
            return super().extend(tokens, parents)

    target = Counted(counting, VOCABULARY)
    drafter = ModelDrafter(slipping(5), GREEDY, VOCABULARY)
    stopping = Stopping(20)
    text, _ = start(target, drafter, [0], stopping)
    subject = Subject(target, drafter, GREEDY, stopping)
    stream = speculative_blocks(subject, text, Fixed(3), torch.Generator())
    tokens: list[int] = []
    for number, block in enumerate(stream, start=1):
        assert passes == number
        assert block.tokens
        tokens += block.tokens
    assert text == [0]
    assert tuple(tokens) == run(stopping, gamma=3).tokens


def test_counts_of_plain_decoding_divide_by_nothing() -> None:
    generation = alone(TabularModel(counting, VOCABULARY), [0], GREEDY, Stopping(5))
    assert generation.accepted_fraction is None
    assert generation.block_efficiency == 1
    assert generation.drafted == generation.accepted == 0
    assert run(Stopping(5), gamma=0).accepted_fraction is None
    assert run(Stopping(1), gamma=5).accepted_fraction is None
