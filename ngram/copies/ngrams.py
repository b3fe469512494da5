"""N-gram models along recorded texts, each draft the model's likeliest tokens."""

from __future__ import annotations

import numpy as np

from ngram.copies.texts import Copied, Texts
from ngram.rows.rows import Rows


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
