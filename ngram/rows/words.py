"""The words of a model (token ids and the three special words of ARPA files), and its n-grams."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Codes of the special words; they index the last three entries of an array of length tokens + 3.
UNKNOWN = -3
BEGIN = -2
END = -1

NAMES = {UNKNOWN: "<unk>", BEGIN: "<s>", END: "</s>"}
MAX_ORDER = 6


def check_order(order: int) -> None:
    """Refuses orders beyond the limit of KenLM's programs."""
    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"order must lie in [1, {MAX_ORDER}], got {order}")


def word_name(word: int) -> str:
    """Returns a word as an ARPA file writes it."""
    return NAMES[word] if word < 0 else str(word)


@dataclass(frozen=True, slots=True)
class Grams:
    """All n-grams of one order, in any sequence.

    words: ids, or the codes of special words, shape (n, order), int32.
    log10_probability: probability of the last word given the words before it, shape (n,), float64.
    log10_backoff: back-off weight after these words, shape (n,), float64; None for a model's
      highest order.
    first_line: number of the line that holds the first n-gram in its file; 0 without a file.
    """

    words: NDArray[np.int32]
    log10_probability: NDArray[np.float64]
    log10_backoff: NDArray[np.float64] | None
    first_line: int = 0

    @property
    def order(self) -> int:
        return int(self.words.shape[1])

    def __len__(self) -> int:
        return len(self.words)


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
