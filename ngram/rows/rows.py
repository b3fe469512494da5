"""Next-token distributions of n-gram models over a tokenizer's whole vocabulary; perplexities."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ngram.rows.backoff import BEGIN, END, LN10, UNKNOWN, BackoffModel, word_name

Row = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The ids of a tokenizer.

    tokens: number of ids.
    end: the end-of-text id; `</s>` in an ARPA file.
    begin: the beginning-of-text id; None if there is none.
    """

    tokens: int
    end: int
    begin: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.end < self.tokens:
            raise ValueError(f"the end-of-text id must lie in [0, {self.tokens}), got {self.end}")

    @property
    def breaks(self) -> frozenset[int]:
        """The ids after which a new text begins."""
        return frozenset({self.end} if self.begin is None else {self.end, self.begin})


def vocabulary_of(tokenizer: Any) -> Vocabulary:
    """Returns the ids of a Hugging Face tokenizer, which must have an end-of-text token."""
    if tokenizer.eos_token_id is None:
        raise ValueError("a tokenizer must have an end-of-text token (eos_token), got none")
    return Vocabulary(len(tokenizer), tokenizer.eos_token_id, tokenizer.bos_token_id)


class Rows:
    """Next-token distributions of an n-gram model over token ids.

    `</s>` is the end-of-text id; `<s>` has probability 0. The probability of `<unk>` is divided
    equally among the ids that the model lacks. (KenLM gives each of these ids the whole of it.) If
    the model lacks no id, the probabilities of all ids are scaled up to sum to 1.

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
        """Returns the last words of a text, which determine the next token's distribution.

        Words before the text's last beginning or end are left out; `<s>` precedes the first word.
        """
        reach = self.model.order - 1
        last = list(text[max(len(text) - reach, 0) :])
        ends = [place for place, token in enumerate(last) if token in self._breaks]
        words = last[ends[-1] + 1 :] if ends else last
        return words if len(words) == reach else [BEGIN, *words]

    def log_row(self, context: Sequence[int]) -> Row:
        """Returns log-probabilities of the token after the words of `context`, shape (width,)."""
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


@dataclass(frozen=True, slots=True)
class Score:
    """The log-probability of a corpus.

    words: number of scored words; a word is a token or an end of text.
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
    """Returns a corpus's score under `rows`, the distributions from which `NgramDrafter` drafts.

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
    """Loads an ARPA file, or KenLM's binary form of one; ValueError if KenLM cannot load it."""
    import kenlm

    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        return kenlm.Model(str(path), config)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"KenLM must be able to load {path}, got: {error}") from error


def score_kenlm(path: Path, sentences: NDArray[np.int32]) -> Score:
    """Returns KenLM's score of a corpus; each unknown word gets the whole probability of `<unk>`.

    path: an ARPA file of order 2 to 6, or KenLM's binary form of one.
    sentences: the ids of all texts in sequence, each text followed by END.
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
