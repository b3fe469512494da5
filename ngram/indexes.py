"""Indexes of a growing text, which find what followed its last tokens earlier. Free of torch.

Lookups copy what followed the longest match. Suffix decoding (Oliaro et al. 2024, section 4) drafts
the likeliest continuation of one of the text's suffixes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice

# vLLM's defaults for suffix decoding.
DEPTH, LEAST_CHANCE = 24, 0.1
MOST_DEPTH = 256
# Longest match that a lookup may search for, and its default.
MOST, LONGEST = 64, 3
# A longer draft must gain at least this much, so that rounding does not decide.
TIE = 1e-9
# In place of a token: an earlier output ends.
END = -1


class Occurrences:
    """The places at which each token of a text occurs."""

    def __init__(self) -> None:
        self._text: list[int] = []
        self._places: dict[int, list[int]] = {}

    def update(self, text: Sequence[int]) -> None:
        """Replaces the indexed text; `text` may extend it, or cut it off and add one token.

        Takes time in proportion to the number of added or removed tokens.
        """
        common = max(min(len(self._text), len(text) - 1), 0)
        while len(self._text) > common:
            self._places[self._text.pop()].pop()
        for place, token in enumerate(text[common:], start=common):
            self._text.append(token)
            self._places.setdefault(token, []).append(place)

    def matches(
        self, text: Sequence[int], places: Sequence[int], longest: int
    ) -> list[Sequence[int]]:
        """Returns, for n = 1, 2, …, the places where the last n tokens of `text` end in this index.

        Stops after n = `longest`, or before the first n without such a place.

        places: where the last token of `text` occurs in this index, ascending.
        """
        by_length: list[Sequence[int]] = []
        while places and len(by_length) < longest:
            by_length.append(places)
            back = len(by_length)
            token = text[-back - 1] if back < len(text) else None
            places = [at for at in places if at >= back and self._text[at - back] == token]
        return by_length


class Matches(Occurrences):
    """Copies the tokens after a match: the longest earlier occurrence of the text's last tokens.

    Copying from the earliest match, up to the text's end, is the rule of vLLM
    (`vllm/v1/spec_decode/ngram_proposer.py`, 2025 and 2026). With a shortest match of 1 it is also
    the rule of transformers' `PromptLookupCandidateGenerator`.

    longest, shortest: largest and smallest number of tokens in a match, at least 1.
    earliest: True: copy after the earliest of the longest matches. False: after the latest; a copy
      that reaches the text's end starts over, so `a b a b` continues with `a b a b`...
    """

    def __init__(self, longest: int, shortest: int = 1, *, earliest: bool = False) -> None:
        super().__init__()
        self.longest = longest
        self.shortest = shortest
        self.earliest = earliest

    def continuation(self, limit: int) -> list[int]:
        """Returns at most `limit` tokens that follow the match; [] without a match."""
        before = self._places[self._text[-1]][:-1] if self._text else []
        by_length = self.matches(self._text, before, self.longest)
        if len(by_length) < self.shortest:
            return []
        place = by_length[-1][0 if self.earliest else -1] + 1
        copied = self._text[place : place + limit]
        return copied if self.earliest else list(islice(cycle(copied), limit))


Continuation = tuple[list[int], float]
"""Tokens, and the expected number of them that is accepted: the sum of their probabilities."""
NONE: Continuation = ([], 0.0)


class Suffixes(Occurrences):
    """Drafts the continuation with the most expected accepted tokens, over suffixes of the text.

    Each suffix that occurred before proposes its likeliest continuation, at most as long as itself.
    The frequency of a token after the suffix estimates the token's acceptance probability.

    depth: largest number of tokens in a suffix and its continuation together, at least 2.
    earlier: an index of the outputs of earlier requests, with the same depth.
    """

    def __init__(self, depth: int, earlier: Suffixes | None = None) -> None:
        super().__init__()
        self.depth = depth
        self._earlier = earlier

    @classmethod
    def of_outputs(cls, outputs: Sequence[Sequence[int]], depth: int) -> Suffixes:
        """Returns an index of the outputs of earlier requests."""
        index = cls(depth)
        index.update([token for output in outputs for token in (*output, END)])
        return index

    def continuation(self, limit: int) -> list[int]:
        """Returns the first `limit` tokens of the best continuation."""
        return self.best()[0][:limit]

    def best(self) -> Continuation:
        """Returns the best continuation; empty if the last token has not occurred before."""
        if not self._text:
            return NONE
        last = self._text[-1]
        candidate = self._after(self._text, self._places[last][:-1])
        if self._earlier is None:
            return candidate
        other = self._earlier._after(self._text, self._earlier._places.get(last, []))
        return other if other[1] > candidate[1] + TIE else candidate

    def _after(self, text: Sequence[int], places: Sequence[int]) -> Continuation:
        """Returns the best continuation of a text whose last token is at `places` in this index."""
        best = NONE
        by_length = self.matches(text, places, self.depth - 1)
        for length in range(len(by_length), 0, -1):
            most = min(length, self.depth - length)
            if most > best[1] + TIE:
                candidate = self._likeliest(by_length[length - 1], most)
                best = candidate if candidate[1] > best[1] + TIE else best
        return best

    def _likeliest(self, places: Sequence[int], most: int) -> Continuation:
        """Returns the likeliest sequence of at most `most` tokens after these places."""
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
