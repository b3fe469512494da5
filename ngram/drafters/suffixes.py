"""Suffix decoding: drafts the most frequent continuation of the text's suffixes.

SuffixDecoding (Oliaro et al. 2024, section 4): every suffix of the text that occurred before drafts
its likeliest continuation, and the draft with the most expected accepted tokens is used. The
frequency of a token estimates its acceptance. A suffix of n tokens drafts at most n tokens, and
both together are at most as long as the tree is deep. Earlier outputs have a tree of their own,
whose draft is used if it expects more accepted tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# vLLM's defaults.
DEPTH, LEAST_CHANCE = 24, 0.1
MOST_DEPTH = 256
# A longer draft must gain at least this much, so that rounding does not decide.
TIE = 1e-9
# In place of a token: an earlier output ends.
END = -1


@dataclass(frozen=True, slots=True)
class Speculation:
    """A continuation and its expected number of accepted tokens (the sum of probabilities)."""

    tokens: list[int]
    expected: float


NONE = Speculation([], 0.0)


class Suffixes:
    """An index of a text that finds its suffixes and counts what followed them.

    Updates cost time in proportion to the number of added or removed tokens.
    """

    def __init__(self, depth: int, earlier: Suffixes | None = None) -> None:
        """Makes an index of an empty text.

        Args:
          depth: depth of the tree: most tokens of a suffix and its continuation together, at least
            2.
          earlier: index of earlier outputs with the same depth; None if there are none.
        """
        self.depth = depth
        self._earlier = earlier
        self._text: list[int] = []
        self._places: dict[int, list[int]] = {}

    @classmethod
    def of_outputs(cls, outputs: Sequence[Sequence[int]], depth: int) -> Suffixes:
        """Returns an index of earlier outputs, in the given order."""
        index = cls(depth)
        index.update([token for output in outputs for token in (*output, END)])
        return index

    def update(self, text: Sequence[int]) -> None:
        """Replaces the indexed text by another; only the changed parts cost time."""
        common = max(min(len(self._text), len(text) - 1), 0)
        while len(self._text) > common:
            self._places[self._text.pop()].pop()
        for place, token in enumerate(text[common:], start=common):
            self._text.append(token)
            self._places.setdefault(token, []).append(place)

    def continuation(self, limit: int) -> list[int]:
        """Returns the first `limit` tokens of the best continuation."""
        return self.speculation().tokens[:limit]

    def speculation(self) -> Speculation:
        """Returns the best continuation; empty if the last token has not occurred before."""
        if not self._text:
            return NONE
        own = self._after(self._text, self._places[self._text[-1]][:-1])
        if self._earlier is None:
            return own
        before = self._earlier._places.get(self._text[-1], [])
        other = self._earlier._after(self._text, before)
        return other if other.expected > own.expected + TIE else own

    def _after(self, text: Sequence[int], places: Sequence[int]) -> Speculation:
        """Returns this index's continuation of a text whose last token occurs at some places."""
        best, length = NONE, 1
        by_length: list[Sequence[int]] = []
        while places and length < self.depth:
            by_length.append(places)
            token = text[-length - 1] if length < len(text) else None
            places = [
                place for place in places if place >= length and self._text[place - length] == token
            ]
            length += 1
        for length in range(len(by_length), 0, -1):
            most = min(length, self.depth - length)
            if most > best.expected + TIE:
                found = self._likeliest(by_length[length - 1], most)
                if found.expected > best.expected + TIE:
                    best = found
        return best

    def _likeliest(self, places: Sequence[int], most: int) -> Speculation:
        """Returns the continuation by the most frequent token after these places, repeatedly."""
        tokens: list[int] = []
        chance, expected, last = 1.0, 0.0, len(self._text) - 1
        while len(tokens) < most:
            places = [place + 1 for place in places if place < last]
            if not places:
                break
            counts: dict[int, int] = {}
            likeliest, often = END, 0
            for place in places:
                token = self._text[place]
                counts[token] = counts.get(token, 0) + 1
                # Among equally frequent tokens the first one to reach that count.
                if counts[token] > often and token != END:
                    likeliest, often = token, counts[token]
            chance *= often / len(places)
            if chance < LEAST_CHANCE - TIE:
                break
            tokens.append(likeliest)
            expected += chance
            places = [place for place in places if self._text[place] == likeliest]
        return Speculation(tokens, expected)
