"""An n-gram model as an automaton that reads the arcs of a lattice for all histories at once.

The state after a history is its longest suffix that the model lists. Earlier words change neither
the score of the next word nor the next state (Katz back-off), so histories with the same suffix are
merged. Of the k^(n-1) histories of a step only those remain that the model lists.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ngram.rows.backoff import BackoffModel
from ngram.rows.rows import Rows
from ngram.rows.words import BEGIN, END, UNKNOWN

Index = NDArray[np.int64]

# Score of an impossible word: "trivial weight" (Kim et al. 2024, appendix D).
LEAST_LOG_PROBABILITY = -1000.0


@dataclass(frozen=True, slots=True)
class LatticeStates:
    """States of an n-gram automaton at one step, numbered from 0, the empty history.

    nodes: for each length 1..n-1, the histories' indices among the model's n-grams of that length.
    shorter: for each length and history, the state's number of its longest proper suffix.
    """

    nodes: tuple[Index, ...]
    shorter: tuple[Index, ...]

    @property
    def rows(self) -> int:
        """Number of states, the empty history included."""
        return 1 + sum(map(len, self.nodes))


@dataclass(frozen=True, slots=True)
class Arcs:
    """The scores of a step's words after each state, and the next states.

    log_probability: natural logarithm, for word w after state s, shape (states, words), float64.
    target: number of the next state among the states `after`, shape (states, words).
    after: the states of the next step.
    """

    log_probability: NDArray[np.float64]
    target: Index
    after: LatticeStates


class Automaton:
    """A back-off n-gram model over token ids, which scores all words of a lattice step at once.

    Scores come from the ARPA file. Tokens that it lacks have equal shares of `<unk>`'s probability.
    """

    def __init__(self, rows: Rows) -> None:
        """Prepares a model's tables, which take 8 bytes for each n-gram of order 2 or more."""
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

    def start(self, text: Sequence[int]) -> LatticeStates:
        """Returns the states of a text's suffixes that the model lists; the longest is the last."""
        words = self._rows.context(text)
        nodes, shorter = [], []
        last = 0
        for length in range(1, self.model.order):
            found = self._nodes(words[-length:]) if length <= len(words) else []
            nodes.append(np.array(found, np.int64))
            shorter.append(np.array([last] * len(found), np.int64))
            last += len(found)
        return LatticeStates(tuple(nodes), tuple(shorter))

    def _nodes(self, words: Sequence[int]) -> list[int]:
        """Returns [index of an n-gram in its order's list]; [] if the model does not list it."""
        node, *numbers = [
            int(self._number[word] if word >= 0 else self.model.number[word]) for word in words
        ]
        for keys, number in zip(self._keys, numbers, strict=False):
            key = node * self._unigrams + number
            node = int(keys.searchsorted(key))
            if keys[node] != key:
                return []
        return [node]

    def read(self, states: LatticeStates, tokens: Index) -> Arcs:
        """Returns the scores of a step's words (ids) after each state, and the next states."""
        words = len(tokens)
        number, breaks = self._number[tokens], self._breaks[tokens]
        log_probability = np.empty((states.rows, words))
        target = np.empty((states.rows, words), np.int64)
        unigram = self._log_probability[0][number]
        log_probability[0] = unigram - self._unknown_cost * self._unknown[tokens]
        target[0] = 1 + np.arange(words)
        # Words after an end or beginning of text follow `<s>`.
        after = [np.where(breaks, self.model.number[BEGIN], number)]
        shorter = [np.zeros(words, np.int64)]
        begin, end = 1 + words, 1
        for level, (nodes, endings) in enumerate(zip(states.nodes, states.shorter, strict=True)):
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
                after.append(place[grows])
                shorter.append(leads[grows])
                leads[grows] = begin + np.arange(len(after[-1]))
                begin += len(after[-1])
            target[row] = leads
        if self.model.order == 1:  # all histories have one state
            return Arcs(log_probability, np.zeros_like(target), LatticeStates((), ()))
        return Arcs(log_probability, target, LatticeStates(tuple(after), tuple(shorter)))
