"""Suffix decoding: drafts the most frequent continuation of the text's suffixes.

SuffixDecoding (Oliaro et al. 2024, section 4): every suffix of the text that occurred before gives
a draft, its likeliest continuation; the draft with the most expected accepted tokens is used. The
frequency of a token estimates its acceptance. A suffix of n tokens drafts at most n tokens. Suffix
and draft together have at most as many tokens as the tree is deep. Earlier outputs have their own
tree.
"""

from __future__ import annotations

from collections.abc import Sequence

# vLLM's defaults.
DEPTH, LEAST_CHANCE = 24, 0.1
MOST_DEPTH = 256
# Longest match of a lookup, whose index keeps that many tuples for each word of the text (memory
# grows with the square of the length), and its default. This module is imported without torch.
MOST, LONGEST = 64, 3
# A longer draft must gain at least this much, so that rounding does not decide.
TIE = 1e-9
# In place of a token: an earlier output ends.
END = -1


Continuation = tuple[list[int], float]
"""Tokens, and the expected number of them that is accepted: the sum of their probabilities."""
NONE: Continuation = ([], 0.0)


class Suffixes:
    """An index of a text that finds its suffixes and counts what followed them.

    Updates cost time in proportion to the number of added or removed tokens.

    depth: depth of the tree: most tokens of a suffix and its continuation together, at least 2.
    earlier: an index of earlier outputs, with the same depth.
    """

    def __init__(self, depth: int, earlier: Suffixes | None = None) -> None:
        self.depth = depth
        self._earlier = earlier
        self._text: list[int] = []
        self._places: dict[int, list[int]] = {}

    @classmethod
    def of_outputs(cls, outputs: Sequence[Sequence[int]], depth: int) -> Suffixes:
        """Returns an index of earlier outputs."""
        index = cls(depth)
        index.update([token for output in outputs for token in (*output, END)])
        return index

    def update(self, text: Sequence[int]) -> None:
        common = max(min(len(self._text), len(text) - 1), 0)
        while len(self._text) > common:
            self._places[self._text.pop()].pop()
        for place, token in enumerate(text[common:], start=common):
            self._text.append(token)
            self._places.setdefault(token, []).append(place)

    def continuation(self, limit: int) -> list[int]:
        """Returns the first `limit` tokens of the best continuation."""
        return self.best()[0][:limit]

    def best(self) -> Continuation:
        """Returns the best continuation; empty if the last token has not occurred before."""
        if not self._text:
            return NONE
        last = self._text[-1]
        own = self._after(self._text, self._places[last][:-1])
        if self._earlier is None:
            return own
        other = self._earlier._after(self._text, self._earlier._places.get(last, []))
        return other if other[1] > own[1] + TIE else own

    def _after(self, text: Sequence[int], places: Sequence[int]) -> Continuation:
        """Returns a text's best continuation; its last token occurs in this index at `places`."""
        best = NONE
        by_length: list[Sequence[int]] = []
        while places and len(by_length) + 1 < self.depth:
            by_length.append(places)
            back = len(by_length)
            token = text[-back - 1] if back < len(text) else None
            places = [at for at in places if at >= back and self._text[at - back] == token]
        for length in range(len(by_length), 0, -1):
            most = min(length, self.depth - length)
            if most > best[1] + TIE:
                found = self._likeliest(by_length[length - 1], most)
                best = found if found[1] > best[1] + TIE else best
        return best

    def _likeliest(self, places: Sequence[int], most: int) -> Continuation:
        """Returns the likeliest continuation after these places, of at most `most` tokens."""
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
        return tokens, expected
