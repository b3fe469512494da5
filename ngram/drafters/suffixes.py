"""Suffixes of a text, and what followed each of them before: speculation by frequency.

The speculation of SuffixDecoding (Oliaro et al. 2024, §4): every suffix of the text that stood
before drafts its likeliest continuation, and the one that expects most of its tokens to stand is
taken. How often a token followed estimates its chance to stand; a suffix of n tokens drafts n
tokens at most, and both together are no longer than the tree is deep. Outputs written before have
a tree of their own, whose speculation is taken where it expects more than the text's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# As vLLM sets them unless told otherwise.
DEPTH, LEAST_CHANCE = 24, 0.1
MOST_DEPTH = 256
# What a longer draft must gain, so that no rounding chooses.
TIE = 1e-9
# No token: an earlier output ends.
END = -1


@dataclass(frozen=True, slots=True)
class Speculation:
    """A continuation, and how many of its tokens are expected to stand: the sum of chances."""

    tokens: list[int]
    expected: float


NONE = Speculation([], 0.0)


class Suffixes:
    """An index of a text, in which suffixes and what followed them are found and counted.

    A text that grows costs work in proportion to its growth, one that shrinks to what it lost.
    """

    def __init__(self, depth: int, earlier: Suffixes | None = None) -> None:
        """Makes an index of an empty text.

        Args:
          depth: of the tree: how many tokens a suffix and its continuation have together, at least
            2.
          earlier: of outputs written before, of the same depth; None: there are none.
        """
        self.depth = depth
        self._earlier = earlier
        self._text: list[int] = []
        self._places: dict[int, list[int]] = {}

    @classmethod
    def of_outputs(cls, outputs: Sequence[Sequence[int]], depth: int) -> Suffixes:
        """Returns the index of outputs written before, in their order."""
        index = cls(depth)
        index.update([token for output in outputs for token in (*output, END)])
        return index

    def update(self, text: Sequence[int]) -> None:
        """Makes it the index of another text, as `Matches.update` does."""
        common = max(min(len(self._text), len(text) - 1), 0)
        while len(self._text) > common:
            self._places[self._text.pop()].pop()
        for place, token in enumerate(text[common:], start=common):
            self._text.append(token)
            self._places.setdefault(token, []).append(place)

    def continuation(self, limit: int) -> list[int]:
        """Returns the first `limit` tokens of the speculation."""
        return self.speculation().tokens[:limit]

    def speculation(self) -> Speculation:
        """Returns what is expected to follow; nothing where the last token is new."""
        if not self._text:
            return NONE
        own = self._after(self._text, self._places[self._text[-1]][:-1])
        if self._earlier is None:
            return own
        before = self._earlier._places.get(self._text[-1], [])
        other = self._earlier._after(self._text, before)
        return other if other.expected > own.expected + TIE else own

    def _after(self, text: Sequence[int], places: Sequence[int]) -> Speculation:
        """Returns what follows a text by this index, where its last token stands at some places."""
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
        """Returns the continuation by the most frequent token after these places, and so on."""
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
                # Of those as frequent the first that was so.
                if counts[token] > often and token != END:
                    likeliest, often = token, counts[token]
            chance *= often / len(places)
            if chance < LEAST_CHANCE - TIE:
                break
            tokens.append(likeliest)
            expected += chance
            places = [place for place in places if self._text[place] == likeliest]
        return Speculation(tokens, expected)
