"""What was counted of copying drafts along recorded texts: whole numbers that add up."""

from __future__ import annotations

import msgspec
import numpy as np

from ngram.copies.texts import Copied, Integers, Texts

# An interval over so many groups of texts is as good as one over the texts.
MOST_GROUPS = 1 << 14


class Totals(msgspec.Struct, frozen=True):
    """Counts over some texts.

    texts: how many.
    hits, tokens: of groups of neighbouring texts, tokens that a draft begun before them has first,
      and all tokens; a group is one text, until there are too many.
    blocks: by γ = 1, 2, …, how many blocks draft 0, …, γ tokens when the texts are decoded.
    skipped: lines left out, and the first of them with its reason; "" where none is.
    """

    texts: int
    hits: list[int]
    tokens: list[int]
    blocks: list[list[int]]
    skipped: int = 0
    first_skipped: str = ""

    def __add__(self, other: Totals) -> Totals:
        hits, tokens = [*self.hits, *other.hits], [*self.tokens, *other.tokens]
        while len(tokens) > MOST_GROUPS:
            hits, tokens = _in_pairs(hits), _in_pairs(tokens)
        return Totals(
            self.texts + other.texts,
            hits,
            tokens,
            [
                [one + two for one, two in zip(ours, theirs, strict=True)]
                for ours, theirs in zip(self.blocks, other.blocks, strict=True)
            ],
            self.skipped + other.skipped,
            self.first_skipped or other.first_skipped,
        )


def nothing(max_gamma: int) -> Totals:
    """Returns the counts over no text."""
    return Totals(0, [], [], [[0] * (gamma + 1) for gamma in range(1, max_gamma + 1)])


def totals(texts: Texts, copied: Copied, max_gamma: int) -> Totals:
    """Returns the counts of drafts along texts, each decoded with every γ.

    A draft is as long as the drafter makes it, at most γ, and leaves a place in the text for the
    target's own token (`simulator.acceptance.replay`, where every chance is 0 or 1).

    Args:
      texts: at least one.
      copied: what would be drafted along their outputs, at most max_gamma tokens.
      max_gamma: the largest γ.
    """
    lengths = texts.lengths
    ends = np.cumsum(lengths)
    room = np.repeat(ends, lengths) - np.arange(int(ends[-1])) - 1
    hits = np.add.reduceat((copied.stood > 0).astype(np.int64), ends - lengths)
    blocks = []
    for gamma in range(1, max_gamma + 1):
        drafted = np.minimum(np.minimum(copied.drafted, room), gamma)
        starts = _starts(np.minimum(copied.stood, drafted) + 1)
        blocks.append(np.bincount(drafted[starts], minlength=gamma + 1).tolist())
    return Totals(len(lengths), hits.tolist(), lengths.tolist(), blocks)


def _starts(steps: Integers) -> list[int]:
    """Returns the places that blocks begin at; no block reaches beyond its text."""
    place, end = 0, len(steps)
    starts: list[int] = []
    jumps, begin = steps.tolist(), starts.append
    while place < end:
        begin(place)
        place += jumps[place]
    return starts


def _in_pairs(values: list[int]) -> list[int]:
    """Returns the sums of neighbours."""
    return [sum(values[place : place + 2]) for place in range(0, len(values), 2)]
