"""Counts copying drafts along recorded texts, in the processes that share a log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from estimator.draft_names.kind import parse_drafter
from estimator.prompts.logs import LogPart, encoded
from estimator.requests import MeasureTexts
from estimator.settings import ModelSettings
from estimator.texts.contexts import GROUPS, context_counts
from ngram.copies.texts import Copied, Integers, Texts

# Most numbers of a list by groups: an interval over so many groups is as good as one over texts.
MOST_NUMBERS = 1 << 14
# Most least lengths of a match that are tried.
MOST_TRIED = 8


class Totals(msgspec.Struct, frozen=True):
    """Counts of drafts along some texts.

    To save memory, neighbouring texts are counted as a group: `blocks` in groups of many texts,
    `hits` in groups of few or single texts.

    texts: number of texts.
    hits: by group, number of tokens that equal the first token of a draft starting there.
    tokens: by group, number of all tokens.
    blocks: by group and least length of a match, number of blocks with 0, …, γ drafted tokens, for
      γ = 1, 2, … one after the other. block_tokens: number of all tokens in these groups.
    contexts: counts of `context_counts`, of drafts as the drafter makes them.
    skipped, first_skipped: number of skipped lines, and the first one with its reason.
    """

    texts: int = 0
    hits: list[int] = []
    tokens: list[int] = []
    blocks: list[list[list[int]]] = []
    block_tokens: list[int] = []
    contexts: list[list[list[int]]] = []
    skipped: int = 0
    first_skipped: str = ""

    def __add__(self, other: Totals) -> Totals:
        most = max(1, MOST_NUMBERS // max(1, np.size([*self.blocks, *other.blocks][:1])))
        return Totals(
            self.texts + other.texts,
            _grouped(self.hits + other.hits, MOST_NUMBERS),
            _grouped(self.tokens + other.tokens, MOST_NUMBERS),
            _grouped(self.blocks + other.blocks, most),
            _grouped(self.block_tokens + other.block_tokens, most),
            _grouped(self.contexts + other.contexts, GROUPS),
            self.skipped + other.skipped,
            self.first_skipped or other.first_skipped,
        )


def _grouped(values: list[Any], most: int) -> list[Any]:
    """Returns the values after adding pairs of neighbours until at most `most` values remain."""
    while len(values) > most:
        values = np.add.reduceat(values, np.arange(0, len(values), 2), axis=0).tolist()
    return values


def least_matches(draft: str) -> tuple[int, ...]:
    """Returns the least match lengths to try, at most MOST_TRIED, ascending.

    A lookup copies after a match of at least this length. The first length is the lookup's own
    setting. Drafts of other kinds have the single length 0.
    """
    shortest, longest = parse_drafter(draft).lookup_lengths or (0, 0)
    if longest - shortest < MOST_TRIED:
        return tuple(range(shortest, longest + 1))
    spaced = np.geomspace(shortest, longest, MOST_TRIED).round().astype(int)
    return tuple(dict.fromkeys(spaced.tolist()))


def totals(texts: Texts, copied: Copied, max_gamma: int, least: Sequence[int] = (0,)) -> Totals:
    """Returns the counts of drafts along texts, for every γ and every least length of a match.

    A draft has at most γ tokens and ends before the text's last token, which the target adds. The
    result equals `simulator.acceptance.replay` with probabilities 0 and 1.

    copied: drafts along the outputs, at most max_gamma tokens each.
    least: least lengths of a match; after a shorter match nothing is drafted.
    """
    lengths = texts.lengths
    ends = np.cumsum(lengths)
    room = np.repeat(ends, lengths) - np.arange(int(ends[-1])) - 1
    hits = np.add.reduceat((copied.accepted > 0).astype(np.int64), ends - lengths)
    gammas = np.arange(1, max_gamma + 1, dtype=np.int32)
    numbers = len(least) * int((gammas + 1).sum())
    groups = min(len(lengths), max(1, MOST_NUMBERS // numbers))
    of_text = np.arange(len(lengths)) * groups // len(lengths)
    group = np.repeat(of_text, lengths)
    tried, contexts = [], list[list[list[int]]]()
    for shortest in least:
        drafts = np.minimum(copied.drafted, room).astype(np.int32)
        if copied.matched is not None:
            drafts = np.where(copied.matched >= shortest, drafts, 0)
        drafted = np.minimum(drafts, gammas[:, None])
        steps = np.minimum(copied.accepted.astype(np.int32), drafted) + 1
        begun = _begun(steps, ends - lengths, ends)
        contexts = contexts or context_counts(texts, copied.accepted > 0, drafted, steps, begun)
        rows = [
            np.bincount(group[at] * size + length[at], minlength=groups * size).reshape(groups, -1)
            for size, length, at in zip((gammas + 1).tolist(), drafted, begun, strict=True)
        ]
        tried.append(np.concatenate(rows, axis=1))
    blocks = np.stack(tried, axis=1).tolist()
    block_tokens = np.bincount(of_text, lengths).astype(int).tolist()
    return Totals(len(lengths), hits.tolist(), lengths.tolist(), blocks, block_tokens, contexts)


def _begun(steps: NDArray[np.int32], first: Integers, ends: Integers) -> NDArray[np.bool_]:
    """Returns a mask of the positions where blocks begin, shape (rows, tokens).

    steps: tokens that a block emits if it begins at a position, shape (rows, tokens).
    first, ends: first position and end of each text.
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


@lru_cache(maxsize=1)
def counter(request: MeasureTexts) -> Callable[[LogPart], Totals]:
    """Returns a function that counts drafts along the texts in one part of the request's log."""
    drafter = parse_drafter(request.draft)
    tokenizer = None
    if request.tokenizer is not None:
        from estimator.loading.folders import load_named_tokenizer

        tokenizer = load_named_tokenizer(request.tokenizer)
        settings = ModelSettings(force=request.force)
        drafter.require(request.tokenizer, tokenizer=tokenizer, settings=settings)
    for file in drafter.own_files:
        if file.exists() and file.samefile(request.texts):
            wrong = "must not be read from the texts that it drafts for"
            raise ValueError(f"draft {drafter} {wrong}, got {file}")
    copies = drafter.from_texts(tokenizer)
    if copies is None:
        raise ValueError(f"draft must be lookup, suffix or ngram with texts, got {request.draft}")
    longest, least = request.max_gamma, least_matches(request.draft)

    def count(part: LogPart) -> Totals:
        pairs, bad = encoded(part, tokenizer)
        skipped = [f"{request.texts} line {number}: {reason}" for number, reason in bad]
        if skipped and not request.skip_bad_lines:
            raise ValueError(skipped[0])
        counted = Totals()
        if pairs:
            texts = Texts.of(pairs)
            counted = totals(texts, copies(texts, longest), longest, least)
        first = next(iter(skipped), "")
        return msgspec.structs.replace(counted, skipped=len(skipped), first_skipped=first)

    return count


def count_part(request: MeasureTexts, part: LogPart) -> Totals:
    """Returns the counts of drafts along the texts in one part of the request's log."""
    return counter(request)(part)
