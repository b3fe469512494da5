"""Words of a model, token ids and the three that ARPA files know by name, and its n-grams."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Negative, so that in a row of length tokens + 3 they index its last three places.
UNKNOWN = -3
BEGIN = -2
END = -1

NAMES = {UNKNOWN: "<unk>", BEGIN: "<s>", END: "</s>"}
MAX_ORDER = 6


def check_order(order: int) -> None:
    """Refuses orders that KenLM's programs are not built for.

    Raises:
      ValueError: if order is out of range.
    """
    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"order must lie in [1, {MAX_ORDER}], got {order}")


def word_name(word: int) -> str:
    """Returns what an ARPA file calls a word."""
    return NAMES[word] if word < 0 else str(word)


@dataclass(frozen=True, slots=True)
class Grams:
    """All n-grams of one order, in any order of rows.

    words: shape (n, order), int32; ids, or a negative code of `ngram.rows.words`.
    log10_probability: of the last word given those before it, shape (n,), float64, <= 0.
    log10_backoff: weight of the next lower order after these words, shape (n,), float64; None
      for a model's highest order.
    first_line: of the file they were read from, where they were.
    """

    words: NDArray[np.int32]
    log10_probability: NDArray[np.float64]
    log10_backoff: NDArray[np.float64] | None
    first_line: int = 0

    @property
    def order(self) -> int:
        """Words in each n-gram."""
        return int(self.words.shape[1])

    def __len__(self) -> int:
        return len(self.words)
