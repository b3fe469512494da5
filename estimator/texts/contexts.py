"""Acceptance of copying drafts by context, counted along recorded texts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import rate, ratio_interval
from estimator.profiles.contexts import LEAST_PROMPTS, LEAST_TOKENS
from estimator.profiles.parts import Alpha, ContextAcceptance
from ngram.copies.texts import Integers, Texts
from simulator.numerics.intervals import CONFIDENCE

# Groups of texts for intervals, and doublings of the context: number b has 2**(b - 1) and more.
GROUPS, DOUBLINGS = 16, 24
# A row has tokens, hits, a thousand times the sum of the logarithm of the context, texts that reach
# the doubling, texts that start in it; then for γ = 1, 2, … the blocks with 0, …, γ drafted tokens,
# and the tokens that they emit.
_MILLI = 1000


def context_counts(
    texts: Texts,
    hits: NDArray[np.bool_],
    drafted: NDArray[np.int32],
    steps: NDArray[np.int32],
    begun: NDArray[np.bool_],
) -> list[list[list[int]]]:
    """Returns counts by group of texts and doubling of the context.

    Blocks that the text's end may cut short are left out.

    hits: whether each token is the first token of a draft, shape (tokens,).
    drafted, steps, begun: drafted tokens, emitted tokens, and whether a block begins there, for
      γ = 1, 2, …, shape (γ, tokens).
    """
    lengths, prompts = texts.lengths, texts.outputs - np.append(0, texts.ends[:-1])
    place = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    room = np.repeat(lengths, lengths) - place - 1
    context = np.maximum(place + np.repeat(prompts, lengths), 1)
    doubling = np.minimum(np.frexp(context)[1], DOUBLINGS - 1)
    groups = min(len(lengths), GROUPS)
    group = np.repeat(np.arange(len(lengths)) * groups // len(lengths), lengths)
    key, size = group * DOUBLINGS + doubling, groups * DOUBLINGS
    reached = (place == 0) | (np.diff(doubling, prepend=-1) != 0)
    logs = np.round(_MILLI * np.log(context))
    columns = [
        np.bincount(key, weights, size) for weights in (key >= 0, hits, logs, reached, place == 0)
    ]
    for gamma, (length, step, begins) in enumerate(zip(drafted, steps, begun, strict=True), 1):
        inside = begins & (room >= gamma)
        cells = key[inside] * (gamma + 1) + length[inside]
        counts = np.bincount(cells, minlength=size * (gamma + 1)).reshape(size, -1)
        columns += [*counts.T, np.bincount(key[inside], step[inside], size)]
    counted: list[list[list[int]]] = (
        np.stack(columns, axis=1).astype(np.int64).reshape(groups, DOUBLINGS, -1).tolist()
    )
    return counted


def by_context(counts: Sequence[Sequence[Sequence[int]]]) -> tuple[ContextAcceptance, ...]:
    """Returns the acceptance in ranges of contexts; () if all lie in one range.

    A range is one doubling, or several where tokens are few. counts: of `context_counts`.
    """
    every = np.array(counts, dtype=np.int64).reshape(len(counts), DOUBLINGS, -1)
    ranges: list[list[int]] = [[]]
    for doubling in range(DOUBLINGS if counts else 0):
        ranges[-1].append(doubling)
        tokens = every[:, ranges[-1], 0].sum(axis=1)
        if tokens.sum() >= LEAST_TOKENS and (tokens > 0).sum() >= LEAST_PROMPTS:
            ranges.append([])
    rest = ranges.pop()
    if len(ranges) < 2:
        return ()
    ranges[-1] += rest
    rows = [_range(positions, every[:, positions]) for positions in ranges]
    return tuple(row for row in rows if all(map(sum, row.blocks.values())))


def _range(doublings: Sequence[int], counts: Integers) -> ContextAcceptance:
    """Returns the acceptance in some doublings; counts: by group of texts and doubling."""
    used = [at for at, tokens in zip(doublings, counts[..., 0].sum(axis=0), strict=True) if tokens]
    groups = counts.sum(axis=1)[counts[..., 0].any(axis=1)]
    tokens, hits, logs, _, _, *numbers = groups.sum(axis=0).tolist()
    low, high = ratio_interval(groups[:, 1].tolist(), groups[:, 0].tolist(), scale=rate)
    blocks, gamma = {}, 1
    while numbers:
        *lengths, emitted = numbers[: gamma + 2]
        blocks[gamma] = tuple(count / max(emitted, 1) for count in lengths)
        numbers, gamma = numbers[gamma + 2 :], gamma + 1
    texts = int(counts[:, 0, 3].sum() + counts[:, 1:, 4].sum())
    alpha = Alpha(hits / tokens, low, high, CONFIDENCE, tokens, texts)
    middle = max(1, round(float(np.exp(logs / _MILLI / tokens))))
    return ContextAcceptance(2 ** used[0] // 2, 2 ** used[-1] - 1, middle, alpha, blocks)
