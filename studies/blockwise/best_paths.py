"""The p best of the k^h paths through a lattice, exactly, by dynamic programming.

    score of a path = sum over its steps of log q_j(x_j) + weight * log P(x_j | text, x_1..x_{j-1})

Kim et al. 2024 (blockwise drafts), 7.2, compose lattice and n-gram automaton with OpenFST. Here a
backward pass gives each state the score of its best completion; then a forward pass keeps the p
prefixes with the best completions. A best path is never lost: if p other prefixes are kept instead
of its prefix, each of them has a completion that is better than this path.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ngram.rows.backoff import BEGIN, END, UNKNOWN, BackoffModel
from ngram.rows.rows import Rows

Index = NDArray[np.int64]
# Score of an impossible word: "trivial weight" (Kim et al. 2024, appendix D).
LEAST_LOG_PROBABILITY = -1000.0
# Arc scores are rounded to multiples of this many nats. Their sums are then exact in any order, so
# equal paths have equal scores on every machine.
GRID = 2.0**-20

States = tuple[tuple[Index, Index], ...]
"""Histories of an n-gram automaton, by length 1..n-1: their indices among the model's n-grams of
that length, and the state of each one's longest proper suffix. State 0 is the empty history, and
the others are numbered in this order."""


@dataclass(frozen=True, slots=True)
class Lattice:
    """A "sausage": k arcs, one per token, between a block's positions (Kim et al. 2024, 6.3).

    tokens: each head's k likeliest ids, the likeliest first, shape (steps, k), int64.
    scores: natural logarithms of the heads' probabilities, shape (steps, k), float64.
    """

    tokens: Index
    scores: NDArray[np.float64]

    @property
    def steps(self) -> int:
        """Number of positions in the block: h - 1, because the model's own head has no arcs."""
        return len(self.tokens)

    @property
    def k(self) -> int:
        """Number of arcs at each position."""
        return len(self.tokens[0])


def require_arcs(k: int, vocabulary: int) -> None:
    """Raises ValueError unless k, the number of tokens per head, is in [1, vocabulary]."""
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


@dataclass(frozen=True, slots=True)
class Arcs:
    """An n-gram model's scores of one step's words, after each state (history) of the `Automaton`.

    log_probability: ln P(word | state), shape (states, words), float64.
    target: number of the state that follows the state and word, shape (states, words).
    after: the states that follow, as `target` numbers them.
    """

    log_probability: NDArray[np.float64]
    target: Index
    after: States = ()


class Automaton:
    """A back-off n-gram model over token ids, which scores a step of a lattice for all histories.

    The state after a history is its longest suffix that the model lists. Earlier words change
    neither the score of the next word nor the next state (Katz back-off), so histories with the
    same suffix are one state. Scores come from the ARPA file; tokens that are not in the file
    share the probability of `<unk>` equally.
    """

    def __init__(self, rows: Rows) -> None:
        """Prepares search tables, which take 8 bytes for each n-gram of order 2 or more."""
        self.model: BackoffModel = rows.model
        model = self.model
        self._rows = rows
        self._unigrams = len(model.levels[0].words)
        # The n-grams of order 2 and more as keys: index of the context, times the number of
        # unigrams, plus index of the word. Sorted; the last entry is no key, so searches end there.
        self._keys = []
        for shorter, longer in pairwise(model.levels):
            context = np.repeat(np.arange(len(shorter.words)), np.diff(shorter.first))
            keys = context * self._unigrams + model.number[longer.words]
            self._keys.append(np.append(keys, np.iinfo(np.int64).max))
        self._log_probability = [
            np.append(level.log_probability.astype(np.float64), 0.0).clip(LEAST_LOG_PROBABILITY)
            for level in model.levels
        ]
        self._log_backoff = [level.log_backoff.astype(np.float64) for level in model.levels[:-1]]
        tokens = rows.vocabulary.tokens
        number = np.full(max(tokens, rows.width), -1, np.int64)
        number[: min(model.ids, len(number))] = model.number[: min(model.ids, len(number))]
        number[rows.vocabulary.end] = model.number[END]
        self._unknown = number < 0
        self._unknown_cost = float(np.log(max(int(self._unknown[:tokens].sum()), 1)))
        number[self._unknown] = model.number[UNKNOWN]
        self._number = number
        self._breaks = np.zeros(len(number), bool)
        self._breaks[sorted(rows.vocabulary.breaks)] = True

    def start(self, text: Sequence[int]) -> States:
        """Returns the states of a text's suffixes that the model lists; the longest is the last."""
        words = self._rows.context(text)
        states, last = [], 0
        for length in range(1, self.model.order):
            nodes = self._nodes(words[-length:]) if length <= len(words) else []
            states.append((np.array(nodes, np.int64), np.array([last] * len(nodes), np.int64)))
            last += len(nodes)
        return tuple(states)

    def _nodes(self, words: Sequence[int]) -> list[int]:
        """Returns a list of one index, the n-gram's place in its order; [] if it is not listed."""
        node, *numbers = [
            int(self._number[word] if word >= 0 else self.model.number[word]) for word in words
        ]
        for keys, number in zip(self._keys, numbers, strict=False):
            key = node * self._unigrams + number
            node = int(keys.searchsorted(key))
            if keys[node] != key:
                return []
        return [node]

    def read(self, states: States, tokens: Index) -> Arcs:
        """Returns the scores of one step's tokens (ids) after each state, and the next states."""
        words, rows = len(tokens), 1 + sum(len(nodes) for nodes, _ in states)
        number, breaks = self._number[tokens], self._breaks[tokens]
        log_probability = np.empty((rows, words))
        target = np.empty((rows, words), np.int64)
        unigram = self._log_probability[0][number]
        log_probability[0] = unigram - self._unknown_cost * self._unknown[tokens]
        target[0] = 1 + np.arange(words)
        # Words after an end or beginning of text follow `<s>`.
        after = [(np.where(breaks, self.model.number[BEGIN], number), np.zeros(words, np.int64))]
        begin, end = 1 + words, 1
        for level, (nodes, endings) in enumerate(states):
            row = slice(end, end + len(nodes))
            end = row.stop
            key = nodes[:, None] * self._unigrams + number
            place = self._keys[level].searchsorted(key)
            listed = self._keys[level][place] == key
            backed_off = self._log_backoff[level][nodes][:, None] + log_probability[endings]
            log_probability[row] = np.where(
                listed, self._log_probability[level + 1][place], backed_off
            )
            leads = target[endings]
            if level + 1 < self.model.order - 1:
                grows = listed & ~breaks
                after.append((place[grows], leads[grows]))
                leads[grows] = begin + np.arange(len(place[grows]))
                begin += len(place[grows])
            target[row] = leads
        if self.model.order == 1:  # all histories have one state
            return Arcs(log_probability, np.zeros_like(target))
        return Arcs(log_probability, target, tuple(after))


def read_lattice(lattice: Lattice, automaton: Automaton | None, text: Sequence[int]) -> list[Arcs]:
    """Returns an n-gram model's scores of a lattice's steps after a text; 0 if automaton is None.

    The first step has scores after each listed suffix of the text; its last state is the longest.
    """
    if automaton is None:
        one = np.zeros((1, lattice.k))
        return [Arcs(one, one.astype(np.int64))] * lattice.steps
    states, arcs = automaton.start(text), []
    for tokens in lattice.tokens:
        arcs.append(automaton.read(states, tokens))
        states = arcs[-1].after
    return arcs


def best_paths(
    lattice: Lattice, arcs: Sequence[Arcs], *, count: int, weight: float = 1.0
) -> tuple[Index, NDArray[np.float64]]:
    """Returns the tokens of the `count` best paths, (paths, steps), and their scores in nats.

    A lattice with fewer paths gives all of them. The best comes first; paths with equal scores are
    in the order of their arcs, likeliest arcs first.

    arcs: the n-gram model's scores of the lattice (`read_lattice`).
    weight: factor of the n-gram's log-probabilities, at least 0.
    """
    require_search(weight, count=count)
    gains = [
        np.rint((scores + weight * step.log_probability) / GRID) * GRID
        for scores, step in zip(lattice.scores, arcs, strict=True)
    ]
    completions = [np.zeros(int(arcs[-1].target.max()) + 1)]
    for gain, step in zip(gains[::-1], arcs[::-1], strict=True):
        completions.insert(0, (gain + completions[0][step.target]).max(axis=1))
    # The kept prefixes, always in the order of their arcs.
    chosen = np.empty((1, 0), np.int64)
    states = np.array([len(gains[0]) - 1])
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
