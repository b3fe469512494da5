"""Drafts of lookups and n-gram models along recorded texts, for all places at once."""

from collections.abc import Callable

import numpy as np

from ngram.copies.texts import Contexts, Copied, Integers, Texts, agreeing, contexts
from ngram.rows.rows import Rows


def lookups(texts: Texts, *, longest: int, max_gamma: int) -> Copied:
    """Returns the drafts of `ngram.drafters.copying.PromptLookupDrafter`.

    A copy that reaches the end of the written text goes on with itself. As long as it is accepted
    it is the text, so a draft is accepted as far as the text after the match repeats.

    longest: most tokens of a match.
    max_gamma: the longest draft, at least 1.
    """
    sources, matched = _sources(texts, range(1, longest + 1), Contexts.before)
    return _copied(texts, sources, np.where(sources >= 0, max_gamma, 0), matched)


def earliest_lookups(texts: Texts, *, shortest: int, longest: int, max_gamma: int) -> Copied:
    """Returns the drafts of `ngram.drafters.copying.EarliestLookupDrafter`.

    shortest, longest: least and most tokens of a match.
    """
    sources, matched = _sources(texts, range(shortest, longest + 1), Contexts.earliest)
    written = np.minimum(texts.written - sources, max_gamma)
    return _copied(texts, sources, np.where(sources >= 0, written, 0), matched)


def _sources(
    texts: Texts, lengths: range, match: Callable[[Contexts, Integers], Integers]
) -> tuple[Integers, Integers]:
    """Returns the place after the longest match before each output token, or -1, and its length."""
    places = texts.written
    sources, matched = np.full(len(places), -1), np.zeros(len(places), dtype=np.int64)
    # The token before the first one of a text without a prompt belongs to another text.
    inside = places > np.repeat(texts.starts, texts.lengths)
    for length, alike in enumerate(contexts(texts, lengths[-1]), start=1):
        if length in lengths:
            found = np.where(inside, match(alike, places - 1), -1)
            sources = np.where(found >= 0, found + 1, sources)
            matched[found >= 0] = length
    return sources, matched


def _copied(texts: Texts, sources: Integers, drafted: Integers, matched: Integers) -> Copied:
    """Returns the lengths of drafts that copy from `sources`, and how much of each is accepted."""
    places = texts.written
    accepted = np.zeros(len(places), dtype=np.int64)
    rows = np.flatnonzero(sources >= 0)
    room = np.minimum(np.repeat(texts.ends, texts.lengths) - places, drafted)
    accepted[rows] = agreeing(texts, sources[rows], places[rows], room[rows])
    return Copied(drafted, accepted, matched)


def ngrams(texts: Texts, rows: Rows, *, max_gamma: int) -> Copied:
    """Returns the drafts of `ngram.drafters.ngram_drafter.NgramDrafter` at temperature 0.

    A draft is accepted as far as the model's likeliest tokens along the text are the text's own.

    max_gamma: the length of every draft, at least 1.
    """
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
