"""The lattice of a block: the likeliest tokens of each head, and how likely it finds them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Lattice:
    """A "sausage": k arcs from each position of a block to the next (Kim et al. 2024, 6.3).

    tokens: ids by head, the likeliest first, shape (steps, k), int64.
    scores: natural logarithms of the heads' probabilities, shape (steps, k), float64.
    """

    tokens: NDArray[np.int64]
    scores: NDArray[np.float64]

    @property
    def steps(self) -> int:
        """Positions of the block: as many as there are heads beyond the model's own."""
        return len(self.tokens)

    @property
    def k(self) -> int:
        """Arcs at each position."""
        return len(self.tokens[0])


def require_arcs(k: int, vocabulary: int) -> None:
    """Refuses a lattice with fewer than one arc a step, or more than there are tokens.

    Raises:
      ValueError: if k is out of range.
    """
    if not 1 <= k <= vocabulary:
        raise ValueError(f"k must lie in [1, {vocabulary}], the tokens of the vocabulary, got {k}")


def lattice_of(log_probabilities: NDArray[np.floating], k: int) -> Lattice:
    """Returns the lattice of the k likeliest tokens of each head; ties go to the smallest ids.

    Args:
      log_probabilities: natural, shape (steps, vocabulary).
      k: in [1, vocabulary].

    Raises:
      ValueError: if k is out of range.
    """
    vocabulary = log_probabilities.shape[1]
    require_arcs(k, vocabulary)
    least = np.partition(log_probabilities, vocabulary - k, axis=1)[:, vocabulary - k]
    tokens = np.empty((len(log_probabilities), k), np.int64)
    for step, row in enumerate(log_probabilities):
        among = np.flatnonzero(row >= least[step])   # in the order of ids; more than k on ties
        tokens[step] = among[np.argsort(-row[among], kind="stable")[:k]]
    scores = np.take_along_axis(log_probabilities, tokens, axis=1).astype(np.float64)
    return Lattice(tokens, scores)
