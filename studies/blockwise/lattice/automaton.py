"""An n-gram model as an automaton that reads the arcs of a lattice, all histories at once.

The state after a history is its longest ending that the model lists. What comes before that
changes neither the score of a next word nor the state after it (Katz back-off), so histories that
agree in it are merged: of the k^(n-1) histories of a step, those that the model lists are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngram.rows.backoff import BackoffModel
from ngram.rows.rows import Rows
from ngram.rows.words import BEGIN, END, UNKNOWN

Index = NDArray[np.int64]

# What an impossible word costs: "trivial weight" (Kim et al. 2024, appendix D).
LEAST_LOG_PROBABILITY = -1000.0


@dataclass(frozen=True, slots=True)
class LatticeStates:
    """The states of one step, row 0 that of no history, then by the length of what is listed.

    nodes: by length 1..n-1, the places of the histories among the n-grams of that order.
    shorter: by length, the row of the longest proper ending that is listed too.
    """

    nodes: tuple[Index, ...]
    shorter: tuple[Index, ...]

    @property
    def rows(self) -> int:
        """How many states there are, the one of no history included."""
        return 1 + sum(map(len, self.nodes))


@dataclass(frozen=True, slots=True)
class Arcs:
    """What the words of a step cost after each state, and where they lead.

    log_probability: natural, of word w after state s, shape (states, words), float64.
    target: row of the state after it among `after`, shape (states, words).
    after: the states of the next step.
    """

    log_probability: NDArray[np.float64]
    target: Index
    after: LatticeStates


class Automaton:
    """A back-off model over token ids, read by whole steps of a lattice.

    Scores are the ARPA file's own; a token that the model lacks has an equal share of `<unk>`.
    """

    def __init__(self, rows: Rows) -> None:
        """Prepares a model's tables: 8 bytes for each n-gram above the unigrams.

        Args:
          rows: the model and the tokenizer's vocabulary that it is bound to.
        """
        model = rows.model
        self.model: BackoffModel = model
        self._rows = rows
        self._unigrams = len(model.levels[0].words)
        # The n-grams of order 2 and more as keys: the place of the context, times the unigrams,
        # plus that of the word. They are sorted; the last is no key, so a search never overruns.
        self._keys = [
            np.append(
                np.repeat(np.arange(len(shorter.words)), np.diff(shorter.first)) * self._unigrams
                + model.number[longer.words],
                np.iinfo(np.int64).max,
            )
            for shorter, longer in zip(model.levels, model.levels[1:], strict=False)
        ]
        self._log_probability = [
            np.append(level.log_probability.astype(np.float64), 0.0).clip(LEAST_LOG_PROBABILITY)
            for level in model.levels
        ]
        self._log_backoff = [level.log_backoff.astype(np.float64) for level in model.levels[:-1]]
        tokens = rows.vocabulary.tokens
        number = np.full(max(tokens, rows.width), -1, np.int64)
        number[: min(model.ids, len(number))] = model.number[: min(model.ids, len(number))]
        number[rows.vocabulary.end] = model.number[END]
        lacking = max(int((number[:tokens] < 0).sum()), 1)
        self._unknown = number < 0
        self._unknown_cost = float(np.log(lacking))
        number[self._unknown] = model.number[UNKNOWN]
        self._number = number
        self._breaks = np.zeros(len(number), bool)
        self._breaks[sorted(rows.vocabulary.breaks)] = True

    def start(self, text: Sequence[int]) -> LatticeStates:
        """Returns the state after a text, in the last row, and those of its endings.

        Args:
          text: token ids; the last n - 1 matter.
        """
        words = self._rows.context(text)
        nodes, shorter = [], []
        last = 0
        for length in range(1, self.model.order):
            node = self._node(words[-length:]) if length <= len(words) else -1
            found = [] if node < 0 else [node]
            nodes.append(np.array(found, np.int64))
            shorter.append(np.array([last] * len(found), np.int64))
            last += len(found)
        return LatticeStates(tuple(nodes), tuple(shorter))

    def _node(self, words: Sequence[int]) -> int:
        """Returns the place of listed words among the n-grams of their order, -1 if not listed."""
        numbers = [self._word_number(word) for word in words]
        node = numbers[0]
        for keys, number in zip(self._keys, numbers[1:], strict=False):
            key = node * self._unigrams + number
            node = int(keys.searchsorted(key))
            if keys[node] != key:
                return -1
        return node

    def _word_number(self, word: int) -> int:
        return int(self._number[word]) if word >= 0 else int(self.model.number[word])

    def read(self, states: LatticeStates, tokens: Index) -> Arcs:
        """Returns the scores of a step's words after each state, and the states after them.

        Args:
          tokens: ids, shape (words,).
        """
        words = len(tokens)
        number, breaks = self._number[tokens], self._breaks[tokens]
        log_probability = np.empty((states.rows, words))
        target = np.empty((states.rows, words), np.int64)
        unigram = self._log_probability[0][number]
        log_probability[0] = unigram - self._unknown_cost * self._unknown[tokens]
        target[0] = 1 + np.arange(words)
        # What follows an end or beginning of text follows `<s>`.
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
        if self.model.order == 1:  # all histories are one
            return Arcs(log_probability, np.zeros_like(target), LatticeStates((), ()))
        return Arcs(log_probability, target, LatticeStates(tuple(after), tuple(shorter)))
