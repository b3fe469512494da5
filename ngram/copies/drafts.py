"""What lookups and n-gram models would draft along recorded texts."""

import numpy as np

from ngram.copies.contexts import contexts
from ngram.copies.texts import Copied, Texts, agreeing
from ngram.rows.rows import Rows


def lookups(texts: Texts, *, longest: int, max_gamma: int) -> Copied:
    """Returns what `ngram.drafters.copying.PromptLookupDrafter` would draft before each token.

    A copy that reaches the end of what is written goes on with itself, which is the text as long as
    it stands: so a draft stands as far as the text after the match and the text agree.
    longest: tokens that a match has, at most; max_gamma: the longest draft, at least 1.
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


def ngrams(texts: Texts, rows: Rows, *, max_gamma: int) -> Copied:
    """Returns what `ngram.drafters.ngram_drafter.NgramDrafter` drafts at temperature 0.

    A token depends on the text before it alone, so that a draft stands as far as the model's
    likeliest tokens along the text are the text.

    Args:
      texts: recorded, in ids of the rows.
      rows: of the model.
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
