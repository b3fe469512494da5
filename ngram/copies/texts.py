"""Recorded texts side by side, and what drafts that copy make of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Texts:
    """Recorded texts, one after another.

    tokens: ids, shape (N,).
    ends: where each text ends, shape (texts,), ascending.
    outputs: where the output of each text begins, after its prompt, shape (texts,).
    """

    tokens: Integers
    ends: Integers
    outputs: Integers

    @classmethod
    def of(cls, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Texts:
        """Returns the texts of prompts and outputs, no output being empty."""
        whole = chain.from_iterable(chain(prompt, output) for prompt, output in pairs)
        prompts = np.array([len(prompt) for prompt, _ in pairs], dtype=np.int64)
        outputs = np.array([len(output) for _, output in pairs], dtype=np.int64)
        ends = np.cumsum(prompts + outputs)
        return cls(np.fromiter(whole, np.int64, int(ends[-1])), ends, ends - outputs)

    def before(self, others: Texts) -> Texts:
        """Returns these texts and others after them."""
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
        """Tokens of each output, shape (texts,)."""
        return self.ends - self.outputs

    @property
    def written(self) -> Integers:
        """The places of all outputs' tokens, shape (outputs' tokens,)."""
        lengths = self.lengths
        shift = self.outputs - np.concatenate(([0], np.cumsum(lengths)[:-1]))
        return np.arange(int(lengths.sum())) + np.repeat(shift, lengths)

    def end_after(self, places: Integers) -> Integers:
        """Returns where the texts of some places end."""
        return self.ends[np.searchsorted(self.ends, places, side="right")]


@dataclass(frozen=True, slots=True)
class Copied:
    """Lengths of the drafts that a copying drafter would make before each token of the outputs.

    drafted: drafted tokens, at most the longest draft that is considered, shape (tokens,).
    stood: accepted tokens: the text's own, up to the first that is not; tokens beyond the end of
      the text do not count, shape (tokens,).
    """

    drafted: Integers
    stood: Integers


def agreeing(texts: Texts, sources: Integers, places: Integers, room: Integers) -> Integers:
    """Returns how many tokens from some sources on are those from some places on.

    Args:
      texts: both are in.
      sources: shape (M,), each before its place.
      places: shape (M,).
      room: at most so many, shape (M,), none of them beyond the texts.
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
