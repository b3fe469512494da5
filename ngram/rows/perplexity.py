"""The perplexity of a corpus, by our rows and by KenLM."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngram.rows.rows import Rows
from ngram.rows.words import BEGIN, END, word_name

LN10 = math.log(10)


@dataclass(frozen=True, slots=True)
class Score:
    """The log-probability of a corpus.

    words: number of scored tokens and ends of text.
    unknown: number of words that are not in the model's vocabulary.
    log_probability: sum of natural logarithms over all words.
    known_log_probability: sum of natural logarithms over the words in the model's vocabulary.
    """

    words: int
    unknown: int
    log_probability: float
    known_log_probability: float

    @property
    def perplexity(self) -> float:
        return math.exp(-self.log_probability / self.words)

    @property
    def known_perplexity(self) -> float:
        """The perplexity of the words in the model's vocabulary; NaN if there are none."""
        known = self.words - self.unknown
        return math.exp(-self.known_log_probability / known) if known > 0 else math.nan


def score_rows(
    rows: Rows, sentences: NDArray[np.int32], step: Callable[[int], object] = lambda _: None
) -> Score:
    """Returns a corpus's score under the distributions from which a drafter drafts.

    sentences: the ids of all texts in sequence, each text followed by END.
    step: called after each text with its number of words.
    """
    model = rows.model
    text: list[int] = [BEGIN]
    values: list[float] = []
    unknown: list[bool] = []
    for word in sentences.tolist():
        row = rows.log_row(text[max(len(text) - model.order + 1, 0) :])
        values.append(float(row[rows.vocabulary.end if word == END else word]))
        unknown.append(word >= model.ids or bool(model.number[word] < 0))
        text.append(word)
        if word == END:
            step(len(text) - 1)
            text = [BEGIN]
    return _score(values, unknown)


def load_kenlm(path: Path) -> Any:
    """Returns KenLM's model of an ARPA file or binary; ValueError if KenLM cannot load it."""
    import kenlm

    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        return kenlm.Model(str(path), config)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"KenLM must be able to load {path}, got: {error}") from error


def score_kenlm(path: Path, sentences: NDArray[np.int32]) -> Score:
    """Returns KenLM's score of a corpus, which gives `<unk>`'s probability to each unknown word.

    path: an ARPA file of order 2 to 6, or a binary built from it.
    """
    import kenlm

    model = load_kenlm(path)
    names = {int(word): word_name(int(word)) for word in np.unique(sentences)}
    unknown_words = {word for word, name in names.items() if name not in model}
    values: list[float] = []
    unknown: list[bool] = []
    state, after = kenlm.State(), kenlm.State()
    model.BeginSentenceWrite(state)
    for word in sentences.tolist():
        values.append(model.BaseScore(state, names[word], after) * LN10)
        unknown.append(word in unknown_words)
        state, after = after, state
        if word == END:
            model.BeginSentenceWrite(state)
    return _score(values, unknown)


def _score(values: list[float], unknown: list[bool]) -> Score:
    known = [value for value, lacks in zip(values, unknown, strict=True) if not lacks]
    return Score(len(values), sum(unknown), math.fsum(values), math.fsum(known))
