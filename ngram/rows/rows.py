"""Next-token distributions of n-gram models over a tokenizer's whole vocabulary."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ngram.rows.backoff import BackoffModel
from ngram.rows.words import BEGIN, END, UNKNOWN, Vocabulary

Row = NDArray[np.float32]


class Rows:
    """Next-token distributions of an n-gram model over token ids.

    `</s>` is the end-of-text id; `<s>` has probability 0. The probability of `<unk>` is divided
    equally among the ids that the model lacks (KenLM gives all of it to each of them). If the model
    lacks none, it is divided among all ids in proportion.

    width: number of ids in a distribution; None: the number of the tokenizer's ids. Ids beyond the
      tokenizer's have probability 0; ids beyond the width are cut off.
    """

    def __init__(
        self, model: BackoffModel, vocabulary: Vocabulary, *, width: int | None = None
    ) -> None:
        tokens, end = vocabulary.tokens, vocabulary.end
        if model.ids > tokens:
            raise ValueError(
                f"an n-gram model's ids must be below the tokenizer's {tokens} tokens, "
                f"got {model.ids - 1}"
            )
        if end < model.ids and model.number[end] >= 0:
            raise ValueError(f"an n-gram model must call the end of text </s>, got the id {end}")
        self.model = model
        self.vocabulary = vocabulary
        self._breaks = vocabulary.breaks
        self.width = tokens if width is None else width
        unigrams = model.levels[0]
        # Three more entries than ids, for the words with negative codes.
        base = np.full(max(tokens, self.width) + 3, -np.inf, np.float32)
        base[unigrams.words] = unigrams.log_probability
        base[end] = base[END]
        lacking = np.flatnonzero(np.isneginf(base[:tokens]))
        if len(lacking) > 0:
            base[lacking] = base[UNKNOWN] - np.float32(np.log(len(lacking)))
        self._base = base
        self._log_homeless = -np.inf if len(lacking) > 0 else float(base[UNKNOWN])

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self  # nothing in it changes

    def context(self, text: Sequence[int]) -> list[int]:
        """Returns the last words of a text, on which its next token depends.

        The text begins with `<s>`, and so does each part of it that follows an end of text.
        """
        reach = self.model.order - 1
        last = list(text[max(len(text) - reach, 0) :])
        ends = [place for place, token in enumerate(last) if token in self._breaks]
        words = last[ends[-1] + 1 :] if ends else last
        return words if len(words) == reach else [BEGIN, *words]

    def log_row(self, context: Sequence[int]) -> Row:
        """Returns the natural logarithm of the next token's distribution, shape (width,).

        context: the words before the token; only the last order - 1 are used.
        """
        slices = self.model.slices(context)
        weight = sum(backoff for backoff, _, _ in slices)
        # Probability without an id to go to is divided among the others in proportion.
        homeless = math.exp(self._log_homeless + weight)
        weight -= math.log1p(-homeless)
        row = self._base + np.float32(weight)
        for level, (backoff, first, last) in zip(self.model.levels[1:], slices, strict=False):
            weight -= backoff
            row[level.words[first:last]] = level.log_probability[first:last] + np.float32(weight)
        row[self.vocabulary.end] = row[END]
        return row[: self.width]

    def row(self, context: Sequence[int]) -> Row:
        """Returns the next token's distribution, shape (width,)."""
        return np.exp(self.log_row(context))
