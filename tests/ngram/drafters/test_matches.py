"""The index of matches equals a search through the text."""

import numpy as np
import pytest

from ngram.drafters.matches import Matches


def searched(text: list[int], longest: int, limit: int) -> list[int]:
    """Returns what followed the longest, then latest, earlier match of the text's end."""
    for length in range(min(longest, len(text)), 0, -1):
        for start in range(len(text) - length - 1, -1, -1):
            if text[start : start + length] == text[-length:]:
                continued = list(text)
                for place in range(start + length, start + length + limit):
                    continued.append(continued[place])
                return continued[len(text) :]
    return []


@pytest.mark.parametrize("longest", [1, 2, 3, 5])
def test_growing_and_shrinking_texts_are_searched_right(longest: int) -> None:
    source = np.random.default_rng(longest)
    for _ in range(20):
        matches = Matches(longest)
        text: list[int] = []
        for _ in range(60):
            if text and source.random() < 0.3:
                # What was drafted is rejected, and its first word replaced.
                text = [*text[: int(source.integers(0, len(text)))], int(source.integers(0, 4))]
            else:
                text = [*text, *source.integers(0, 4, int(source.integers(1, 4))).tolist()]
            matches.update(text)
            assert matches.continuation(5) == searched(text, longest, 5)


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ([1, 2, 3, 9, 1, 2], [3, 9, 1, 2]),
        ([1, 2, 7, 1, 2, 8, 1, 2], [8, 1, 2, 8]),
        ([5, 1, 2, 7, 6, 2, 8, 1, 2], [7, 6, 2, 8]),
        ([4, 4], [4, 4, 4, 4]),
        ([1, 2, 1, 2], [1, 2, 1, 2]),
        ([1, 2, 3], []),
        ([1], []),
        ([], []),
    ],
)
def test_the_longest_and_latest_match_is_copied(text: list[int], copied: list[int]) -> None:
    matches = Matches(2)
    matches.update(text)
    assert matches.continuation(4) == copied


def test_nothing_asked_for_is_nothing_copied() -> None:
    matches = Matches(2)
    matches.update([1, 1])
    assert matches.continuation(0) == []
