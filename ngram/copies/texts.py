"""Recorded texts in one array, and how far copies from them are accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Copied = tuple[Integers, Integers]
"""Drafted and accepted tokens of the draft before each token of the outputs, shape (tokens,) each.

Accepted tokens do not count beyond the end of the text.
"""


@dataclass(frozen=True, slots=True)
class Texts:
    """Recorded texts, one after another; a place is an index into `tokens`.

    tokens: ids, shape (N,).
    ends: where each text ends, shape (texts,), ascending.
    outputs: where each text's output begins, after its prompt, shape (texts,).
    """

    tokens: Integers
    ends: Integers
    outputs: Integers

    @classmethod
    def of(cls, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Texts:
        """Returns the texts of pairs of a prompt and an output that is not empty."""
        whole = chain.from_iterable(chain(prompt, output) for prompt, output in pairs)
        prompts = np.array([len(prompt) for prompt, _ in pairs], dtype=np.int64)
        outputs = np.array([len(output) for _, output in pairs], dtype=np.int64)
        ends = np.cumsum(prompts + outputs)
        return cls(np.fromiter(whole, np.int64, int(ends[-1])), ends, ends - outputs)

    def before(self, others: Texts) -> Texts:
        """Returns these texts followed by others."""
        shift = len(self.tokens)
        return Texts(
            np.concatenate([self.tokens, others.tokens]),
            np.concatenate([self.ends, others.ends + shift]),
            np.concatenate([self.outputs, others.outputs + shift]),
        )

    @property
    def starts(self) -> Integers:
        """Where each text begins, shape (texts,)."""
        return np.concatenate(([0], self.ends[:-1]))

    @property
    def lengths(self) -> Integers:
        """Number of tokens of each output, shape (texts,)."""
        return self.ends - self.outputs

    @property
    def written(self) -> Integers:
        """The places of all outputs' tokens, ascending."""
        lengths = self.lengths
        shift = self.outputs - np.concatenate(([0], np.cumsum(lengths)[:-1]))
        return np.arange(int(lengths.sum())) + np.repeat(shift, lengths)

    def end_after(self, places: Integers) -> Integers:
        """Returns, for each place, where its text ends."""
        return self.ends[np.searchsorted(self.ends, places, side="right")]


def agreeing(texts: Texts, sources: Integers, places: Integers, room: Integers) -> Integers:
    """Returns, for each pair of a source and a place, how many tokens from there on are equal.

    sources, places: shape (M,); each source comes before its place.
    room: the most tokens to compare, shape (M,); they lie inside the texts.
    """
    found = np.zeros(len(places), dtype=np.int64)
    rows = np.flatnonzero(room > 0)
    while len(rows):
        reached = found[rows]
        same = texts.tokens[sources[rows] + reached] == texts.tokens[places[rows] + reached]
        rows = rows[same]
        found[rows] += 1
        rows = rows[found[rows] < room[rows]]
    return found
