"""Finds earlier occurrences of a text's last words."""

from collections.abc import Sequence

# Longest match of an index. The index keeps that many tuples for each word of the text, and their
# memory grows with the square of the length.
MOST = 64
# The default length of a lookup's longest match.
LONGEST = 3


class Matches:
    """An index of the places in a text by the words before them.

    An update takes time in proportion to the number of added or removed words.
    """

    def __init__(self, longest: int) -> None:
        """Makes an index of an empty text; `longest` is the most words of a match, at least 1."""
        self.longest = longest
        self._text: list[int] = []
        # For each sequence of words: the places of the words that followed it, ascending.
        self._followers: dict[tuple[int, ...], list[int]] = {}

    def update(self, text: Sequence[int]) -> None:
        """Replaces the indexed text by another, which differs from it at the end only."""
        common = max(min(len(self._text), len(text) - 1), 0)
        while len(self._text) > common:
            for words in self._before(len(self._text) - 1):
                self._followers[words].pop()
            self._text.pop()
        for word in text[common:]:
            self._text.append(word)
            for words in self._before(len(self._text) - 1):
                self._followers.setdefault(words, []).append(len(self._text) - 1)

    def _before(self, place: int) -> list[tuple[int, ...]]:
        """Returns the last 1, 2, … words before a place."""
        return [
            tuple(self._text[place - length : place])
            for length in range(1, min(self.longest, place) + 1)
        ]

    def found(self, shortest: int = 1) -> list[int]:
        """Returns the places after the longest matches of at least `shortest` words, ascending."""
        for words in reversed(self._before(len(self._text))):
            if len(words) >= shortest and (places := self._followers.get(words)):
                return places
        return []

    def copied(self, first: int, limit: int) -> list[int]:
        """Returns at most `limit` words of the text from a place on."""
        return self._text[first : first + limit]


class LatestMatches(Matches):
    """Copies from the most recent of the longest matches."""

    def continuation(self, limit: int) -> list[int]:
        """Returns `limit` words, or none if the text's last word has not occurred before.

        A copy that reaches the text's end begins again: `a b a b` continues with `a b a b`...
        """
        places = self.found()
        if not places:
            return []
        copied = self.copied(places[-1], limit)
        period = len(copied)
        return [copied[place % period] for place in range(limit)]


class EarliestMatches(Matches):
    """Copies from the earliest of the longest matches, at most to the text's end.

    vLLM's rule (`vllm/v1/spec_decode/ngram_proposer.py`, 2025 and 2026), and with a shortest match
    of 1 the rule of transformers' `PromptLookupCandidateGenerator`.
    """

    def __init__(self, longest: int, shortest: int) -> None:
        super().__init__(longest)
        self.shortest = shortest

    def continuation(self, limit: int) -> list[int]:
        places = self.found(self.shortest)
        return self.copied(places[0], limit) if places else []
