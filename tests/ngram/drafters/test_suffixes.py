"""Suffix decoding: which suffix speculates, and how far."""

import pytest

from ngram.drafters.suffixes import Suffixes


def ids(text: str) -> list[int]:
    return [ord(character) for character in text]


def speculated(text: str, depth: int = 24, earlier: str = "") -> tuple[str, float]:
    """Returns the speculation after a text whose tokens are its characters.

    earlier: outputs, apart by spaces.
    """
    before = Suffixes.of_outputs([ids(output) for output in earlier.split()], depth)
    index = Suffixes(depth, before if earlier else None)
    index.update(ids(text))
    tokens, expected = index.best()
    return "".join(map(chr, tokens)), expected


@pytest.mark.parametrize(
    ("text", "draft", "expected"),
    [
        ("", "", 0),
        ("abcd", "", 0),
        # A suffix of one token drafts one token, a suffix of two drafts two.
        ("abcdea", "b", 1),
        ("abcdeab", "cd", 2),
        ("abcdeabc", "dea", 3),
        # The end of the text ends the copy.
        ("aaa", "a", 1),
        # One of two followers; ties go to the one that was so frequent first.
        ("abaca", "b", 0.5),
        ("acabacxa", "c", 2 / 3),
        # The longer suffix is surer: after "xa" only "c" came, though "b" came more often.
        ("abababxacxa", "cx", 2),
        # Less than one in ten is not drafted: eleven tokens followed "a" once each.
        ("a0a1a2a3a4a5a6a7a8a9aAa", "", 0),
    ],
)
def test_the_likeliest_continuation_is_drafted(text: str, draft: str, expected: float) -> None:
    found = speculated(text)
    assert found == (draft, pytest.approx(expected))


@pytest.mark.parametrize(
    ("text", "earlier", "draft", "expected"),
    [
        # New tokens of the text are found in earlier outputs; tokens in neither are not found.
        ("ab", "abcd", "cd", 2),
        ("abz", "abcd", "", 0),
        # A suffix reaches into no other output, and a draft beyond none.
        ("xab", "xa bcd", "c", 1),
        ("ab", "abc def", "c", 1),
        # An output that ends there is an occurrence without a continuation.
        ("a", "xa ya ab", "b", 1 / 3),
        ("a", "xa", "", 0),
        # The text itself goes before where both promise as much, and else the surer one.
        ("abcab", "abxy", "ca", 2),
        ("abca", "abxy", "b", 1),
        ("acabacxa", "xab xab", "b", 1),
        # Among followers as frequent it is the one that was so first.
        ("a", "ac ab ad ab ac", "b", 0.4),
    ],
)
def test_outputs_written_before_draft_where_they_promise_more(
    text: str, earlier: str, draft: str, expected: float
) -> None:
    assert speculated(text, earlier=earlier) == (draft, pytest.approx(expected))


def test_suffix_and_continuation_are_no_longer_than_the_tree_is_deep() -> None:
    text = "0123456789" * 2
    assert [len(speculated(text, depth)[0]) for depth in (2, 3, 6, 9, 24)] == [1, 1, 3, 4, 10]


def test_a_text_that_is_cut_and_goes_on_is_the_text_that_it_is() -> None:
    grown, fresh = Suffixes(8), Suffixes(8)
    for text in ([1, 2, 3, 1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 1, 2, 3, 1]):
        grown.update(text)
    fresh.update([1, 2, 3, 4, 1, 2, 3, 1])
    assert grown.best() == fresh.best()
