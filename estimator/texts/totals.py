"""What was counted of copying drafts along recorded texts: whole numbers that add up."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

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
    gammas = np.arange(1, max_gamma + 1, dtype=np.int32)
    drafted = np.minimum(np.minimum(copied.drafted, room).astype(np.int32), gammas[:, None])
    begun = _begun(np.minimum(copied.stood.astype(np.int32), drafted) + 1, ends - lengths, ends)
    blocks = [
        np.bincount(lengths[places], minlength=gamma + 1).tolist()
        for gamma, lengths, places in zip(gammas.tolist(), drafted, begun, strict=True)
    ]
    return Totals(len(lengths), hits.tolist(), lengths.tolist(), blocks)


def _begun(
    steps: NDArray[np.int32], first: Integers, ends: Integers
) -> NDArray[np.bool_]:
    """Returns the places where blocks begin, of all rows and all texts side by side.

    Args:
      steps: from a block that begins at a place to the next, shape (rows, tokens).
      first, ends: of each text.
    """
    begun = np.zeros(steps.size, dtype=np.bool_)
    of_row = np.arange(len(steps))[:, None] * steps.shape[1]
    step = steps.ravel()
    places, until = (of_row + first).ravel(), (of_row + ends).ravel()
    while len(places):
        begun[places] = True
        places = places + step[places]
        going = places < until
        places, until = places[going], until[going]
    return begun.reshape(steps.shape)


def _in_pairs(values: list[int]) -> list[int]:
    """Returns the sums of neighbours."""
    return [sum(values[place : place + 2]) for place in range(0, len(values), 2)]
