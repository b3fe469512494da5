"""Recorded texts, and the drafts of lookups and n-gram models at all their places at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngram.rows.rows import Rows

Integers = NDArray[np.int64]


class Copied(NamedTuple):
    """The draft that is proposed before each token of the outputs, in arrays of shape (tokens,).

    drafted: number of drafted tokens.
    accepted: number of accepted tokens, counted up to the end of the text.
    matched: number of tokens that the lookup matched, 0 without a match; None without lookups.
    """

    drafted: Integers
    accepted: Integers
    matched: Integers | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """Recorded texts, one after another; a place is an index into `tokens`.

    tokens: ids, shape (N,).
    ends: the place after each text's last token, shape (texts,), ascending.
    outputs: the place of each output's first token, after the prompt, shape (texts,).
    """

    tokens: Integers
    ends: Integers
    outputs: Integers

    @classmethod
    def of(cls, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Texts:
        """Returns the texts of pairs (prompt, output); no output may be empty."""
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
        """The place where each text begins, shape (texts,)."""
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
        """Returns, for each place, the end (as in `ends`) of the text that contains the place."""
        return self.ends[np.searchsorted(self.ends, places, side="right")]


def agreeing(texts: Texts, sources: Integers, places: Integers, room: Integers) -> Integers:
    """Returns, for M pairs of places, how many tokens in a row are equal from these places on.

    sources, places: the first and second place of each pair, shape (M,); sources < places.
    room: largest number of tokens to compare for each pair, shape (M,); stays inside the texts.
    """
    lengths = np.zeros(len(places), dtype=np.int64)
    rows = np.flatnonzero(room > 0)
    while len(rows):
        reached = lengths[rows]
        same = texts.tokens[sources[rows] + reached] == texts.tokens[places[rows] + reached]
        rows = rows[same]
        lengths[rows] += 1
        rows = rows[lengths[rows] < room[rows]]
    return lengths


# Bits of a sort key, which holds a context, a token and a place.
_BITS = 63


@dataclass(frozen=True, slots=True)
class Contexts:
    """The places at which repeated contexts (sequences of n tokens, for one n) end.

    places: places grouped by context, ascending in each group, shape (M,).
    first: index in `places` at which each place's group begins, shape (M,).
    index: for each token of the texts, the index of its place in `places`, or -1, shape (N,).
    """

    places: Integers
    first: Integers
    index: Integers


def contexts(texts: Texts, longest: int, *, shared: bool = False) -> Iterator[Contexts]:
    """Yields the contexts of 1, 2, … tokens that repeat in one text or, if `shared`, in any two."""
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


def lookups(
    texts: Texts, *, longest: int, max_gamma: int, shortest: int = 1, earliest: bool = False
) -> Copied:
    """Returns the draft that a lookup (`ngram.indexes.Matches`) proposes before each output token.

    No model runs: the accepted tokens of a draft are its first tokens that equal the recorded text.

    shortest, longest: smallest and largest number of tokens in a match.
    max_gamma: largest number of tokens in a draft, at least 1.
    earliest: True: a draft copies the tokens after the earliest match, up to the end of the text so
      far. False: it copies the tokens after the latest match and always has `max_gamma` tokens.
    """
    places = texts.written
    sources, matched = np.full(len(places), -1), np.zeros(len(places), dtype=np.int64)
    # The token before the first one of a text without a prompt belongs to another text.
    inside = places > np.repeat(texts.starts, texts.lengths)
    for length, alike in enumerate(contexts(texts, longest), start=1):
        if len(alike.places) == 0:
            break
        if length >= shortest:
            index = alike.index[places - 1]
            first = alike.first[index]
            rows = np.flatnonzero(inside & (index > first))
            sources[rows] = alike.places[(first if earliest else index - 1)[rows]] + 1
            matched[rows] = length
    copied = np.flatnonzero(sources >= 0)
    drafted, accepted = np.zeros((2, len(places)), dtype=np.int64)
    drafted[copied] = np.minimum(places - sources, max_gamma)[copied] if earliest else max_gamma
    room = np.minimum(np.repeat(texts.ends, texts.lengths) - places, drafted)
    accepted[copied] = agreeing(texts, sources[copied], places[copied], room[copied])
    return Copied(drafted, accepted, matched)


def ngrams(texts: Texts, rows: Rows, *, max_gamma: int) -> Copied:
    """Returns the draft of max_gamma greedy tokens by an n-gram model before each output token."""
    likeliest: dict[tuple[int, ...], int] = {}
    reach = rows.model.order
    runs = np.zeros(int(texts.lengths.sum()), dtype=np.int64)
    done = 0
    for start, begin, end in zip(texts.starts, texts.outputs, texts.ends, strict=True):
        ids = texts.tokens[start:end].tolist()
        run = 0
        for place in range(end - start - 1, begin - start - 1, -1):
            context = rows.context(ids[max(place - reach, 0) : place])
            key = tuple(context)
            if key not in likeliest:
                likeliest[key] = int(rows.log_row(context).argmax())
            run = run + 1 if likeliest[key] == ids[place] else 0
            runs[done + place - (begin - start)] = run
        done += int(end - begin)
    drafted = np.full(len(runs), max_gamma)
    return Copied(drafted, np.minimum(runs, max_gamma))
