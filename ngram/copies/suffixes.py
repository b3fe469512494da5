"""Suffix decoding along recorded texts: the drafts of `ngram.indexes.Suffixes` at all places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngram.copies.texts import Copied, Integers, Texts, agreeing, contexts
from ngram.indexes import DEPTH, LEAST_CHANCE, TIE

Drafts = NDArray[np.void]
"""Drafts, one before each of some places, with the fields of DRAFT."""
DRAFT = np.dtype(
    [
        ("expected", np.float64),  # expected number of accepted tokens
        ("drafted", np.int64),  # length of the draft
        ("accepted", np.int64),  # accepted tokens before `tail`
        ("tail", np.int64),  # where the rest is copied from once these are accepted, or -1
        ("rest", np.int64),  # length of the rest
    ]
)
_PLACE_BITS = 32


@dataclass(frozen=True, slots=True)
class Nodes:
    """The occurrences of repeated contexts, in arrays of shape (M,) for M occurrences.

    A context is a sequence of 1 to `depth` - 1 tokens; contexts that occur only once are left out.
    An index is a position in these arrays; a place is a position in the texts. While a draft is
    searched for a place, a node of the suffix tree is represented by the index of its context's
    last occurrence before that place.

    depth: depth of the suffix tree.
    places: place of each occurrence's last token; grouped by context, ascending in each group.
    first: index of the first occurrence of the same context.
    followed: count of the context's most frequent next token, up to and with this occurrence.
    likeliest: index of one occurrence of the context that is followed by this most frequent token.
    child: index of the occurrence that is one token longer and ends one token later; -1 if the
      longer context occurs only once, or the text ends.
    keys: `first` and `places` packed into one number, ascending.
    at: one array for each context length 1, 2, …: for each place of the texts, the index of the
      occurrence that ends there, or -1.
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
        """Returns the index of each context's last occurrence before a given place, or -1."""
        first = self.first[index]
        position = np.searchsorted(self.keys, first << _PLACE_BITS | places) - 1
        return np.where(position >= first, position, -1)


def _no_drafts(count: int) -> Drafts:
    drafts = np.zeros(count, DRAFT)
    drafts["tail"] = -1
    return drafts


def _improve(best: Drafts, rows: Integers, others: Drafts) -> None:
    """Replaces best[rows[i]] by others[i] where others[i] has more expected accepted tokens."""
    better = np.flatnonzero(others["expected"] > best["expected"][rows] + TIE)
    best[rows[better]] = others[better]


def suffixes(
    texts: Texts, *, max_gamma: int, depth: int = DEPTH, earlier: Texts | None = None
) -> Copied:
    """Returns the draft that suffix decoding proposes before each token of the outputs.

    max_gamma: largest number of tokens in a draft, at least 1.
    depth: depth of the suffix tree, at least 2.
    earlier: outputs of earlier requests, without prompts; drafts may copy from them, too.
    """
    places = texts.written
    inside = places > np.repeat(texts.starts, texts.lengths)
    best = _best(texts, _nodes(texts, depth), places, inside, places - 1)
    if earlier is not None:
        texts, shift = earlier.before(texts), len(earlier.tokens)
        places = places + shift
        best["tail"][best["tail"] >= 0] += shift
        nodes = _nodes(texts, depth, shared=True)
        others = _best(texts, nodes, places, inside, np.full(len(places), shift))
        _improve(best, np.arange(len(places)), others)
    whole = np.flatnonzero(best["tail"] >= 0)
    room = np.minimum(best["rest"], texts.end_after(places) - places - best["accepted"])
    best["accepted"][whole] += agreeing(
        texts, best["tail"][whole], (places + best["accepted"])[whole], room[whole]
    )
    drafted = np.minimum(best["drafted"], max_gamma)
    return Copied(drafted, np.minimum(best["accepted"], drafted))


def _best(
    texts: Texts, nodes: Nodes, places: Integers, inside: NDArray[np.bool_], until: Integers
) -> Drafts:
    """Returns the best draft before each place, copied from text up to the place in `until`.

    inside: False where the place is the first of its text, so that nothing can be drafted.
    """
    best = _no_drafts(len(places))
    for length in range(min(nodes.depth - 1, len(nodes.at)), 0, -1):
        most = min(length, nodes.depth - length)
        index = nodes.at[length - 1][places - 1]
        rows = np.flatnonzero(inside & (index >= 0) & (most > best["expected"] + TIE))
        rows = rows[index[rows] > nodes.first[index[rows]]]
        node = nodes.before(index[rows], until[rows])
        rows, node = rows[node >= 0], node[node >= 0]
        if len(rows):
            _improve(best, rows, _drafts(texts, nodes, node, places[rows], until[rows], most))
    return best


def _drafts(
    texts: Texts, nodes: Nodes, node: Integers, places: Integers, until: Integers, most: int
) -> Drafts:
    """Returns a draft before each place: the likeliest path down the suffix tree from `node`."""
    drafts = _no_drafts(len(places))
    chance = np.ones(len(places))
    agrees = np.ones(len(places), dtype=np.bool_)
    rows = np.arange(len(places))
    for step in range(most):
        now = node[rows]
        seen = now - nodes.first[now] + 1
        chance[rows] *= nodes.followed[now] / seen
        rows, now, seen = (
            values[chance[rows] >= LEAST_CHANCE - TIE] for values in (rows, now, seen)
        )
        if not len(rows):
            break
        source = nodes.places[nodes.likeliest[now]] + 1
        child = nodes.child[nodes.likeliest[now]]
        once = (seen == 1) | (child < 0)
        left = np.minimum(texts.end_after(source[once]), until[rows[once]] + 1) - source[once]
        rest = np.minimum(left, most - step)
        last = rows[once]
        drafts["expected"][last] += chance[last] * rest
        drafts["drafted"][last] += rest
        drafts["rest"][last] = rest
        drafts["tail"][last] = np.where(agrees[last], source[once], -1)
        rows, source, child = (values[~once] for values in (rows, source, child))
        here = places[rows] + step
        inside = here < texts.end_after(places[rows])
        agrees[rows] &= inside & (
            texts.tokens[source] == texts.tokens[np.minimum(here, len(texts.tokens) - 1)]
        )
        drafts["expected"][rows] += chance[rows]
        drafts["drafted"][rows] += 1
        drafts["accepted"][rows] += agrees[rows]
        node[rows] = nodes.before(child, until[rows])
        rows = rows[node[rows] >= 0]
    return drafts


def _nodes(texts: Texts, depth: int, *, shared: bool = False) -> Nodes:
    """Returns the contexts that repeat in one text or, if `shared`, in all texts together."""
    parts: list[tuple[Integers, Integers]] = []
    at, total = [], 0
    for alike in contexts(texts, depth, shared=shared):
        parts.append((alike.places, alike.first + total))
        at.append(np.where(alike.index >= 0, alike.index + total, -1))
        total += len(alike.places)
        if len(alike.places) == 0:
            break
    places, first = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    end = len(texts.tokens) - 1
    reached = [
        longer[np.minimum(here + 1, end)] for (here, _), longer in zip(parts, at[1:], strict=False)
    ]
    reached.append(np.full(len(parts[-1][0]), -1))
    ended = places + 1 >= texts.end_after(places)
    child = np.where(ended, -1, np.concatenate(reached))
    count = np.where(child >= 0, child - first[np.maximum(child, 0)] + 1, ~ended)
    # Cumulative maxima inside each context: contexts come one after another.
    above = first << _PLACE_BITS
    followed = np.maximum.accumulate(above + count) - above
    begun = np.arange(total) == first
    record = begun | (count > np.concatenate(([0], followed[:-1])))
    likeliest = np.maximum.accumulate(np.where(record, np.arange(total), 0))
    return Nodes(depth, places, first, followed, likeliest, child, above | places, at)
