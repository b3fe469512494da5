"""Contexts: the last n tokens at a place, and the places that share them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ngram.copies.texts import Integers, Texts

# Bits of a sort key, which holds a context, a token and a place.
_BITS = 63


@dataclass(frozen=True, slots=True)
class Contexts:
    """The places whose last n tokens occur more than once.

    places: places grouped by context, ascending in each group, shape (M,).
    first: index in `places` at which each place's group begins, shape (M,).
    index: for each place of the texts, its index in `places`, or -1, shape (N,).
    """

    places: Integers
    first: Integers
    index: Integers

    def before(self, places: Integers) -> Integers:
        """Returns, for each place, the previous place with its context, or -1."""
        index = self.index[places]
        before, rows = self._with_others(index)
        before[rows] = self.places[index[rows] - 1]
        return before

    def earliest(self, places: Integers) -> Integers:
        """Returns, for each place, the first place with its context, or -1 if that is itself."""
        index = self.index[places]
        earliest, rows = self._with_others(index)
        earliest[rows] = self.places[self.first[index[rows]]]
        return earliest

    def _with_others(self, index: Integers) -> tuple[Integers, Integers]:
        """Returns an array of -1, and the rows whose context occurred earlier."""
        rows = np.flatnonzero(index >= 0)
        return np.full(len(index), -1), rows[index[rows] > self.first[index[rows]]]


def contexts(texts: Texts, longest: int, *, shared: bool = False) -> Iterator[Contexts]:
    """Yields the contexts of 1, 2, …, `longest` tokens; each lies inside one text.

    shared: whether texts share equal contexts; if not, each text has its own.
    """
    values, tokens = np.unique(texts.tokens, return_inverse=True)
    lengths = np.diff(texts.ends, prepend=0)
    places = np.arange(len(tokens))
    place_bits, token_bits = len(tokens).bit_length(), len(values).bit_length()
    if 2 * place_bits + token_bits > _BITS:
        raise ValueError(f"a text must be shorter than 4 million tokens, got {int(lengths.max())}")
    # A context of no tokens: one for each text, or one for all.
    group = np.repeat(np.zeros_like(texts.starts) if shared else texts.starts, lengths)
    last = np.zeros(len(tokens), dtype=np.bool_)
    last[texts.ends - 1] = True
    for length in range(1, longest + 1):
        if length > 1:
            going = ~last[places]
            places, group = places[going] + 1, group[going]
        key = ((group << token_bits | tokens[places]) << place_bits) | places
        key.sort()
        places, key = key & ((1 << place_bits) - 1), key >> place_bits
        new = np.concatenate(([True], key[1:] != key[:-1])) if len(key) else key.astype(bool)
        single = new & np.concatenate((new[1:], [True])) if len(key) else new
        places, new = places[~single], new[~single]
        group = np.maximum.accumulate(np.where(new, np.arange(len(places)), 0))
        index = np.full(len(tokens), -1)
        index[places] = np.arange(len(places))
        yield Contexts(places, group, index)
