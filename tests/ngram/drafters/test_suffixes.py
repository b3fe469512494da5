"""Suffix decoding: which suffix speculates, and how far."""

import pytest

from ngram.drafters.suffixes import Suffixes


def speculated(text: str, depth: int = 24) -> tuple[str, float]:
    """Returns the speculation after a text whose tokens are its characters."""
    index = Suffixes(depth)
    index.update([ord(character) for character in text])
    found = index.speculation()
    return "".join(map(chr, found.tokens)), found.expected


@pytest.mark.parametrize(
    ("text", "draft", "expected"),
    [
        ("", "", 0),
        ("abcd", "", 0),
        # A suffix of one token drafts one, of two two: as many as have stood.
        ("abcdea", "b", 1),
        ("abcdeab", "cd", 2),
        ("abcdeabc", "dea", 3),
        # What was written ends the copy.
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


def test_suffix_and_continuation_are_no_longer_than_the_tree_is_deep() -> None:
    text = "0123456789" * 2
    assert [len(speculated(text, depth)[0]) for depth in (2, 3, 6, 9, 24)] == [1, 1, 3, 4, 10]


def test_a_text_that_is_cut_and_goes_on_is_the_text_that_it_is() -> None:
    grown, fresh = Suffixes(8), Suffixes(8)
    for text in ([1, 2, 3, 1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 1, 2, 3, 1]):
        grown.update(text)
    fresh.update([1, 2, 3, 4, 1, 2, 3, 1])
    assert grown.speculation() == fresh.speculation()
