"""Text as its tokens come."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specplan.reports.generation import piece, text_pieces
from tests.specplan.programs import bpe_tokenizer

TEXT = "naïve — 日本語 😀 text"


def of_bytes(ids: Sequence[int]) -> str:
    """Decodes ids that are bytes, as byte-level tokenizers do."""
    return bytes(ids).decode("utf-8", errors="replace")


def of_words(ids: Sequence[int]) -> str:
    """Decodes words as SentencePiece does: a space before each, but for the first of all."""
    return " ".join(f"w{number}" for number in ids)


def test_a_character_goes_out_when_all_of_its_bytes_are_there() -> None:
    blocks = [[byte] for byte in "aé😀".encode()]
    assert list(text_pieces(of_bytes, blocks, [])) == ["a", "", "é", "", "", "", "😀", ""]


def test_a_word_brings_the_space_before_it() -> None:
    assert list(text_pieces(of_words, [[1], [2, 3]], [7])) == [" w1", " w2 w3", ""]
    assert piece(of_words, [], [1, 2]) == "w1 w2"


def test_bytes_that_never_become_a_character_come_last() -> None:
    assert list(text_pieces(of_bytes, [[65], [0xE6]], [])) == ["A", "", "\ufffd"]


def test_a_piece_may_complete_an_earlier_one() -> None:
    euro = list("€".encode())
    assert piece(of_bytes, euro[:2], euro[2:]) == "€"


@settings(max_examples=60, deadline=None)
@given(cuts=st.sets(st.integers(1, len(TEXT.encode()) - 1)))
def test_however_it_is_cut_the_stream_is_the_text(cuts: set[int]) -> None:
    ids = list(TEXT.encode())
    ends = [0, *sorted(cuts), len(ids)]
    blocks = [ids[a:b] for a, b in pairwise(ends)]
    assert "".join(text_pieces(of_bytes, blocks, [])) == TEXT


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_real_tokenizers_stream_is_the_text(size: int) -> None:
    tokenizer = bpe_tokenizer(tokens=300)
    ids = tokenizer(TEXT)["input_ids"]
    blocks = [ids[at : at + size] for at in range(0, len(ids), size)]
    assert "".join(text_pieces(tokenizer.decode, blocks, [])) == TEXT
