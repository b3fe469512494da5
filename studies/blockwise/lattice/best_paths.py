"""The p best of the k^h paths through a lattice, exactly, by dynamic programming.

    score of a path = sum over its steps of log q_j(x_j) + weight * log P(x_j | text, x_1..x_{j-1})

Kim et al. 2024 (blockwise drafts), 7.2, compose lattice and n-gram automaton with OpenFST. Here a
backward pass gives each state the score of its best completion; then a forward pass keeps the p
prefixes with the best completions. A best path is never lost: if p other prefixes are kept instead
of its prefix, each of them has a completion that is better than this path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.blockwise.lattice.automaton import Arcs, Automaton, LatticeStates

# Arc scores are rounded to multiples of this many nats. Their sums are then exact in any order, so
# equal paths have equal scores on every machine.
GRID = 2.0**-20


Paths = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Tokens of paths, shape (paths, steps), and their scores in nats, shape (paths,)."""

Reading = tuple[int, tuple[Arcs, ...]]
"""Scores of a lattice by an n-gram model: row of the first state, and the arcs of each step."""


def best_paths(
    lattice: Lattice,
    *,
    count: int,
    automaton: Automaton | None = None,
    weight: float = 1.0,
    text: Sequence[int] = (),
) -> Paths:
    """Returns the `count` best paths, best first, or all paths if there are fewer.

    Paths with equal scores are in the order of their arcs, likeliest arcs first.

    automaton: an n-gram model; None: only the heads' scores count.
    weight: factor of the n-gram's log-probabilities, at least 0.
    text: the ids before the lattice.
    """
    return best_of(lattice, read_lattice(lattice, automaton, text), count=count, weight=weight)


def best_of(lattice: Lattice, reading: Reading, *, count: int, weight: float) -> Paths:
    """Returns the `count` best paths of a lattice; reading: its n-gram scores (`read_lattice`)."""
    require_search(weight, count=count)
    start, arcs = reading
    gains = [
        np.rint((scores + weight * step.log_probability) / GRID) * GRID
        for scores, step in zip(lattice.scores, arcs, strict=True)
    ]
    completions = [np.zeros(int(arcs[-1].target.max()) + 1)]
    for gain, step in zip(gains[::-1], arcs[::-1], strict=True):
        completions.insert(0, (gain + completions[0][step.target]).max(axis=1))
    # The kept prefixes, always in the order of their arcs.
    chosen = np.empty((1, 0), np.int64)
    states = np.array([start])
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
    return tokens, scores[order]


def require_search(weight: float, *, count: int = 1) -> None:
    """Raises ValueError if a rescorer's weight or the number of paths is out of range."""
    if count < 1:
        raise ValueError(f"p must be at least 1, got {count}")
    if not 0 <= weight < float("inf"):
        raise ValueError(f"weight must be finite and at least 0, got {weight}")


def read_lattice(lattice: Lattice, automaton: Automaton | None, text: Sequence[int]) -> Reading:
    """Returns an n-gram model's scores of a lattice after a text; 0 if there is no model."""
    if automaton is None:
        one = np.zeros((1, lattice.k))
        alone = Arcs(one, one.astype(np.int64), LatticeStates((), ()))
        return 0, (alone,) * lattice.steps
    states = automaton.start(text)
    start = states.rows - 1
    arcs = []
    for tokens in lattice.tokens:
        arcs.append(automaton.read(states, tokens))
        states = arcs[-1].after
    return start, tuple(arcs)


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
        """Number of positions in the block: the heads beyond the model's own."""
        return len(self.tokens)

    @property
    def k(self) -> int:
        """Number of arcs at each position."""
        return len(self.tokens[0])


def require_arcs(k: int, vocabulary: int) -> None:
    """Raises ValueError unless k, a number of tokens, lies in [1, vocabulary]."""
    if not 1 <= k <= vocabulary:
        raise ValueError(f"k must lie in [1, {vocabulary}], the tokens of the vocabulary, got {k}")


def lattice_of(log_probabilities: NDArray[np.floating], k: int) -> Lattice:
    """Returns the lattice of the k likeliest tokens of each head; ties go to the smallest ids.

    log_probabilities: natural logarithms, shape (steps, vocabulary).
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
