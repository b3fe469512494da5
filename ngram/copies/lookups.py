"""Lookups along recorded texts: what followed the most recent match of the last tokens."""

from __future__ import annotations

import numpy as np

from ngram.copies.contexts import contexts
from ngram.copies.texts import Copied, Texts, agreeing


def lookups(texts: Texts, *, longest: int, max_gamma: int) -> Copied:
    """Returns what `ngram.drafters.lookup.PromptLookupDrafter` would draft before each token.

    A copy that reaches the end of what is written goes on with itself, which is the text as long as
    it stands: so a draft stands as far as the text after the match and the text agree.

    Args:
      texts: recorded.
      longest: tokens that a match has, at most.
      max_gamma: the longest draft, at least 1.
    """
    places = texts.written
    sources = np.full(len(places), -1)
    # The token before the first of a text without a prompt is another's.
    inside = places > np.repeat(texts.starts, texts.lengths)
    for alike in contexts(texts, longest):
        matched = np.where(inside, alike.before(places - 1), -1)
        sources = np.where(matched >= 0, matched + 1, sources)
    stood = np.zeros(len(places), dtype=np.int64)
    rows = np.flatnonzero(sources >= 0)
    room = np.minimum(np.repeat(texts.ends, texts.lengths) - places, max_gamma)
    stood[rows] = agreeing(texts, sources[rows], places[rows], room[rows])
    return Copied(np.where(sources >= 0, max_gamma, 0), stood)
