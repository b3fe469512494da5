"""The p best of the k^h paths through a lattice, exactly, by dynamic programming.

    score of a path = sum over its steps of log q_j(x_j) + weight * log P(x_j | text, x_1..x_{j-1})

Kim et al. 2024 (blockwise drafts), 7.2, where OpenFST composes lattice and n-gram automaton. Here
a pass from the end gives each state the score of its best completion; then a pass from the
beginning keeps the p prefixes whose best completions are best. That loses none of the p best
paths: of the prefixes that a pass would prefer to a path's own, each has a completion that comes
before the path, and all of these are different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.blockwise.lattice.automaton import Arcs, Automaton, LatticeStates

# The scores of arcs are rounded to multiples of this many nats: their sums are then exact in any
# order, so equal paths are equal and no library's rounding decides which is first.
GRID = 2.0**-20


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths, the best first; equals in the order of their arcs, the likeliest arcs first.

    tokens: shape (paths, steps), int64.
    scores: nats, shape (paths,), float64.
    """

    tokens: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reading:
    """What an n-gram model makes of a lattice after a text, whatever its weight.

    start: row of the state before the first step.
    arcs: of each step.
    """

    start: int
    arcs: tuple[Arcs, ...]


def best_paths(
    lattice: Lattice,
    *,
    count: int,
    automaton: Automaton | None = None,
    weight: float = 1.0,
    text: Sequence[int] = (),
) -> Paths:
    """Returns the `count` best paths, or all where there are fewer.

    Args:
      lattice: of at least one step.
      count: p, at least 1.
      automaton: of an n-gram model; None: the heads' scores alone.
      weight: of the n-gram's log-probabilities beside the heads', at least 0.
      text: the ids before the lattice.

    Raises:
      ValueError: if count or weight is out of range.
    """
    return best_of(lattice, read_lattice(lattice, automaton, text), count=count, weight=weight)


def best_of(lattice: Lattice, reading: Reading, *, count: int, weight: float) -> Paths:
    """Returns the best paths of a lattice that was read; arguments and errors of best_paths."""
    require_search(weight, count=count)
    arcs = reading.arcs
    gains = [
        np.rint((scores + weight * step.log_probability) / GRID) * GRID
        for scores, step in zip(lattice.scores, arcs, strict=True)
    ]
    completions = [np.zeros(int(arcs[-1].target.max()) + 1)]
    for gain, step in zip(gains[::-1], arcs[::-1], strict=True):
        completions.append((gain + completions[-1][step.target]).max(axis=1))
    completions.reverse()

    # The prefixes kept, always in the order of their arcs.
    chosen = np.empty((1, 0), np.int64)
    states = np.array([reading.start])
    scores = np.zeros(1)
    for gain, step, completion in zip(gains, arcs, completions[1:], strict=True):
        longer = scores[:, None] + gain[states]
        leads = step.target[states]
        best = np.argsort(-(longer + completion[leads]), axis=None, kind="stable")[:count]
        best.sort()
        prefix, arc = np.divmod(best, lattice.k)
        chosen = np.column_stack([chosen[prefix], arc])
        states = leads[prefix, arc]
        scores = longer[prefix, arc]
    order = np.argsort(-scores, kind="stable")
    tokens = lattice.tokens[np.arange(lattice.steps), chosen[order]]
    return Paths(tokens, scores[order])


def require_search(weight: float, *, count: int = 1) -> None:
    """Refuses a weight that is negative or no number, and fewer than one path.

    Raises:
      ValueError: if weight or count is out of range.
    """
    if count < 1:
        raise ValueError(f"p must be at least 1, got {count}")
    if not 0 <= weight < float("inf"):
        raise ValueError(f"weight must be finite and at least 0, got {weight}")


def read_lattice(lattice: Lattice, automaton: Automaton | None, text: Sequence[int]) -> Reading:
    """Returns the arcs of a lattice as an n-gram model scores them; None: each by nothing.

    Args:
      lattice, automaton, text: as for best_paths.
    """
    if automaton is None:
        one = np.zeros((1, lattice.k))
        alone = Arcs(one, one.astype(np.int64), LatticeStates((), ()))
        return Reading(0, (alone,) * lattice.steps)
    states = automaton.start(text)
    start = states.rows - 1
    arcs = []
    for tokens in lattice.tokens:
        arcs.append(automaton.read(states, tokens))
        states = arcs[-1].after
    return Reading(start, tuple(arcs))


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
        among = np.flatnonzero(row >= least[step])  # in the order of ids; more than k on ties
        tokens[step] = among[np.argsort(-row[among], kind="stable")[:k]]
    scores = np.take_along_axis(log_probabilities, tokens, axis=1).astype(np.float64)
    return Lattice(tokens, scores)
