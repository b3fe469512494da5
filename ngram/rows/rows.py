"""Rows q(. | context) over a tokenizer's whole vocabulary, by vectorised back-off."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ngram.rows.backoff import BackoffModel
from ngram.rows.vocabulary import Vocabulary
from ngram.rows.words import BEGIN, END, UNKNOWN

Row = NDArray[np.float32]


class Rows:
    """The laws of an n-gram model over token ids.

    `</s>` is the end-of-text id. `<s>` is no token and gets nothing. What the model gives to
    `<unk>` is divided equally among the ids that it lacks (KenLM gives all of it to each); if it
    lacks none, among all in proportion.
    """

    def __init__(
        self, model: BackoffModel, vocabulary: Vocabulary, *, width: int | None = None
    ) -> None:
        """Binds a model to the vocabulary of the same tokenizer.

        width: of the rows; ids beyond the tokenizer's get nothing, ids beyond the width are cut
        off. The number of the tokenizer's ids by default.

        Raises:
          ValueError: if the model has ids that the tokenizer lacks, or has the end-of-text id under
            its number instead of as `</s>`.
        """
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
        # Three places more than ids, for the words with negative codes.
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
        """Returns the words that matter for what follows a text of ids, as `log_row` takes them.

        A text begins with `<s>`, and so does what follows an end of text within it.
        """
        reach = self.model.order - 1
        words: list[int] = []
        for token in reversed(text[max(len(text) - reach, 0) :]):
            if token in self._breaks:
                break
            words.append(token)
        if len(words) < reach:
            words.append(BEGIN)
        return words[::-1]

    def log_row(self, context: Sequence[int]) -> Row:
        """Returns the natural logarithm of the law of the next token, shape (width,).

        Args:
          context: words; at most the last order - 1 matter.
        """
        slices = self.model.slices(context)
        weight = sum(backoff for backoff, _, _ in slices)
        # What has no id to go to: the others take it over in proportion.
        homeless = math.exp(self._log_homeless + weight)
        weight -= math.log1p(-homeless)
        row = self._base + np.float32(weight)
        for level, (backoff, first, last) in zip(self.model.levels[1:], slices, strict=False):
            weight -= backoff
            row[level.words[first:last]] = level.log_probability[first:last] + np.float32(weight)
        row[self.vocabulary.end] = row[END]
        return row[: self.width]

    def row(self, context: Sequence[int]) -> Row:
        """Returns the law of the next token, shape (width,)."""
        return np.exp(self.log_row(context))
