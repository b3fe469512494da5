"""The n-grams of one order, as an estimator makes them and an ARPA file lists them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
