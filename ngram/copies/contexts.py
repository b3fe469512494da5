"""Contexts: which places of recorded texts have the same last n tokens."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ngram.copies.texts import Integers, Texts

# Bits of a sorted number, which holds a context, a token and a place.
_BITS = 63


@dataclass(frozen=True, slots=True)
class Contexts:
    """The places whose last n tokens occur more than once in their text.

    places: places grouped by context, ascending in each group, shape (M,).
    first: where in `places` the context of each begins, shape (M,).
    index: where in `places` each place of the texts is, -1 where it is not, shape (N,).
    """

    places: Integers
    first: Integers
    index: Integers

    def before(self, places: Integers) -> Integers:
        """Returns the place before each with the same context; -1 where there is none."""
        index = self.index[places]
        before, rows = self._with_others(index)
        before[rows] = self.places[index[rows] - 1]
        return before

    def earliest(self, places: Integers) -> Integers:
        """Returns the first place with each one's context; -1 where that is the place itself."""
        index = self.index[places]
        earliest, rows = self._with_others(index)
        earliest[rows] = self.places[self.first[index[rows]]]
        return earliest

    def _with_others(self, index: Integers) -> tuple[Integers, Integers]:
        """Returns -1 for each place, and the rows of those that others of their context precede."""
        rows = np.flatnonzero(index >= 0)
        return np.full(len(index), -1), rows[index[rows] > self.first[index[rows]]]


def contexts(texts: Texts, longest: int, *, shared: bool = False) -> Iterator[Contexts]:
    """Yields the contexts of 1, 2, … tokens, each of them inside one text.

    Args:
      texts: to look into.
      longest: how many tokens, at least 1.
      shared: whether equal contexts of several texts are one; if not, each text has its own.

    Raises:
      ValueError: if so many and so different tokens are too many for one pass.
    """
    values, tokens = np.unique(texts.tokens, return_inverse=True)
    lengths = np.diff(texts.ends, prepend=0)
    places = np.arange(len(tokens))
    place_bits, token_bits = len(tokens).bit_length(), len(values).bit_length()
    if 2 * place_bits + token_bits > _BITS:
        raise ValueError(f"a text must be shorter than 4 million tokens, got {int(lengths.max())}")
    # A context of no token is a text.
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
        alone = new & np.concatenate((new[1:], [True])) if len(key) else new
        places, new = places[~alone], new[~alone]
        group = np.maximum.accumulate(np.where(new, np.arange(len(places)), 0))
        index = np.full(len(tokens), -1)
        index[places] = np.arange(len(places))
        yield Contexts(places, group, index)
