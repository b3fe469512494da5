"""Suffix decoding along recorded texts, for all places at once.

`ngram.drafters.suffixes.Suffixes` finds the same drafts place by place. A node of its tree is a
context at a place: the occurrences before that place. The occurrences of all contexts are sorted
in one array. A node is the index in this array of its last occurrence so far.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ngram.copies.contexts import contexts
from ngram.copies.texts import Copied, Integers, Texts, agreeing
from ngram.drafters.suffixes import DEPTH, LEAST_CHANCE, TIE

Numbers = NDArray[np.float64]
_PLACE_BITS = 32


@dataclass(frozen=True, slots=True)
class Nodes:
    """The occurrences of all contexts of 1 to `depth` - 1 tokens, shape (M,) each.

    depth: depth of the tree.
    places: place of an occurrence's last token; grouped by context, ascending.
    first: index of its context's first.
    followed: how many occurrences up to this one were followed by their likeliest token so far.
    likeliest: index of an occurrence that this token follows.
    child: index of the occurrence of the context with the token that follows; -1 where that
      context occurs nowhere else.
    keys: first and place in one number, ascending.
    at: by length - 1, the index of each place's occurrence, -1 where it is none.
    """

    depth: int
    places: Integers
    first: Integers
    followed: Integers
    likeliest: Integers
    child: Integers
    keys: Integers
    at: list[Integers]

    def before(self, index: Integers, places: Integers) -> Integers:
        """Returns the last occurrence of the contexts of some that is before some places, or -1."""
        first = self.first[index]
        found = np.searchsorted(self.keys, first << _PLACE_BITS | places) - 1
        return np.where(found >= first, found, -1)


@dataclass
class _Drafts:
    """The best draft before each of some places so far.

    expected: expected number of accepted tokens.
    drafted: length of the draft.
    stood: accepted tokens before `tail`: the text's own tokens up to the first that is not.
    tail: place that the rest is copied from if all earlier tokens are accepted; -1: nowhere.
    rest: length of the rest.
    """

    expected: Numbers
    drafted: Integers
    stood: Integers
    tail: Integers
    rest: Integers

    @classmethod
    def none(cls, count: int) -> _Drafts:
        zero = np.zeros(count, dtype=np.int64)
        return cls(np.zeros(count), zero.copy(), zero.copy(), zero - 1, zero.copy())

    def take(self, rows: Integers, other: _Drafts) -> None:
        """Replaces some by others of which more is expected."""
        better = np.flatnonzero(other.expected > self.expected[rows] + TIE)
        rows = rows[better]
        for each in fields(self):
            getattr(self, each.name)[rows] = getattr(other, each.name)[better]


def suffixes(
    texts: Texts, *, max_gamma: int, depth: int = DEPTH, earlier: Texts | None = None
) -> Copied:
    """Returns what suffix decoding would draft before each token.

    Args:
      texts: recorded.
      max_gamma: the longest draft, at least 1.
      depth: depth of the tree, at least 2.
      earlier: outputs written before, without prompts; None: each text has only itself.
    """
    places = texts.written
    inside = places > np.repeat(texts.starts, texts.lengths)
    best = _best(texts, _nodes(texts, depth), places, inside, places - 1)
    if earlier is not None:
        texts, shift = earlier.before(texts), len(earlier.tokens)
        places = places + shift
        best.tail[best.tail >= 0] += shift
        nodes = _nodes(texts, depth, shared=True)
        others = _best(texts, nodes, places, inside, np.full(len(places), shift))
        best.take(np.arange(len(places)), others)
    whole = np.flatnonzero(best.tail >= 0)
    room = np.minimum(best.rest, texts.end_after(places) - places - best.stood)
    best.stood[whole] += agreeing(
        texts, best.tail[whole], (places + best.stood)[whole], room[whole]
    )
    drafted = np.minimum(best.drafted, max_gamma)
    return Copied(drafted, np.minimum(best.stood, drafted))


def _best(
    texts: Texts, nodes: Nodes, places: Integers, inside: NDArray[np.bool_], until: Integers
) -> _Drafts:
    """Returns the best draft before each place.

    inside: whether a token of its text comes before it.
    until: place before which its last tokens are sought.
    """
    best = _Drafts.none(len(places))
    for length in range(min(nodes.depth - 1, len(nodes.at)), 0, -1):
        most = min(length, nodes.depth - length)
        index = nodes.at[length - 1][places - 1]
        rows = np.flatnonzero(inside & (index >= 0) & (most > best.expected + TIE))
        rows = rows[index[rows] > nodes.first[index[rows]]]
        node = nodes.before(index[rows], until[rows])
        rows, node = rows[node >= 0], node[node >= 0]
        if len(rows):
            best.take(rows, _drafts(texts, nodes, node, places[rows], until[rows], most))
    return best


def _drafts(
    texts: Texts, nodes: Nodes, node: Integers, places: Integers, until: Integers, most: int
) -> _Drafts:
    """Returns the drafts before some places from the nodes that they have reached."""
    drafts = _Drafts.none(len(places))
    chance = np.ones(len(places))
    standing = np.ones(len(places), dtype=np.bool_)
    rows = np.arange(len(places))
    for step in range(most):
        now = node[rows]
        seen = now - nodes.first[now] + 1
        chance[rows] *= nodes.followed[now] / seen
        # A context that was seen once continues as it did then.
        rows, now, seen = (each[chance[rows] >= LEAST_CHANCE - TIE] for each in (rows, now, seen))
        if not len(rows):
            break
        source = nodes.places[nodes.likeliest[now]] + 1
        child = nodes.child[nodes.likeliest[now]]
        once = (seen == 1) | (child < 0)
        left = np.minimum(texts.end_after(source[once]), until[rows[once]] + 1) - source[once]
        rest = np.minimum(left, most - step)
        _end(drafts, rows[once], source[once], rest, chance, standing)
        rows, source, child = (each[~once] for each in (rows, source, child))
        here = places[rows] + step
        inside = here < texts.end_after(places[rows])
        standing[rows] &= inside & (
            texts.tokens[source] == texts.tokens[np.minimum(here, len(texts.tokens) - 1)]
        )
        drafts.expected[rows] += chance[rows]
        drafts.drafted[rows] += 1
        drafts.stood[rows] += standing[rows]
        node[rows] = nodes.before(child, until[rows])
        rows = rows[node[rows] >= 0]
    return drafts


def _end(
    drafts: _Drafts,
    rows: Integers,
    source: Integers,
    rest: Integers,
    chance: Numbers,
    standing: NDArray[np.bool_],
) -> None:
    """Ends drafts with a copy from where their context stood the only time before."""
    drafts.expected[rows] += chance[rows] * rest
    drafts.drafted[rows] += rest
    drafts.rest[rows] = rest
    drafts.tail[rows] = np.where(standing[rows], source, -1)


def _nodes(texts: Texts, depth: int, *, shared: bool = False) -> Nodes:
    """Returns the contexts that occur more than once in a text or, if shared, in all texts."""
    parts: list[tuple[Integers, Integers, Integers]] = []
    at, total = [], 0
    for alike in contexts(texts, depth, shared=shared):
        parts.append((alike.places, alike.first + total, alike.index + total))
        at.append(np.where(alike.index >= 0, alike.index + total, -1))
        total += len(alike.places)
        if len(alike.places) == 0:
            break
    places, first = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    child, ended = np.full(total, -1), np.zeros(total, dtype=np.bool_)
    done = 0
    for length, (here, _, _) in enumerate(parts[:-1]):
        following = np.minimum(here + 1, len(texts.tokens) - 1)
        reached = at[length + 1][following]
        rows = slice(done, done + len(here))
        ended[rows] = here + 1 >= texts.end_after(here)
        child[rows] = np.where(ended[rows], -1, reached)
        done += len(here)
    count = np.where(child >= 0, child - first[np.maximum(child, 0)] + 1, ~ended)
    # Cumulative maxima inside each context: contexts come one after another.
    above = first << _PLACE_BITS
    followed = np.maximum.accumulate(above + count) - above
    begun = np.arange(total) == first
    record = begun | (count > np.concatenate(([0], followed[:-1])))
    likeliest = np.maximum.accumulate(np.where(record, np.arange(total), 0))
    return Nodes(depth, places, first, followed, likeliest, child, above | places, at)
