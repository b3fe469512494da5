"""The p best paths of a lattice equal a search through all paths, and its scores are KenLM's."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from ngram.formats.model_files import load_model
from ngram.rows.backoff import BEGIN, END, UNKNOWN, BackoffModel
from ngram.rows.rows import Rows, Vocabulary
from studies.blockwise.best_paths import (
    GRID,
    LEAST_LOG_PROBABILITY,
    Automaton,
    Lattice,
    best_paths,
    lattice_of,
    read_lattice,
)
from tests.ngram.corpora import random_texts, trained_model, written
from tests.ngram.oracles import LN10, kenlm_model, kenlm_state

WORDS = 12
TOKENS = 14  # two more than the models know
VOCABULARY = Vocabulary(TOKENS, end=TOKENS - 1)


def rows_of(order: int, seed: int = 0) -> Rows:
    texts = random_texts(seed, texts=40, words=WORDS)
    return Rows(trained_model(texts, order), VOCABULARY)


def listed(model: BackoffModel) -> list[dict[tuple[int, ...], tuple[float, float]]]:
    """Returns each order's n-grams with natural log-probability and back-off weight."""
    orders: list[dict[tuple[int, ...], tuple[float, float]]] = []
    before: list[tuple[int, ...]] = [()]
    first = np.array([0, len(model.levels[0].words)])
    for level in model.levels:
        grams = [
            (*context, int(level.words[place]))
            for number, context in enumerate(before)
            for place in range(first[number], first[number + 1])
        ]
        backoffs = level.log_backoff if len(level.log_backoff) else np.zeros(len(grams))
        orders.append(
            {
                gram: (float(p), float(backoff))
                for gram, p, backoff in zip(grams, level.log_probability, backoffs, strict=True)
            }
        )
        before, first = grams, level.first
    return orders


def katz(
    orders: list[dict[tuple[int, ...], tuple[float, float]]], context: tuple[int, ...], word: int
) -> float:
    """Katz's recursion, word by word: the listed probability, or back off."""
    if (*context, word) in orders[len(context)]:
        return max(orders[len(context)][*context, word][0], LEAST_LOG_PROBABILITY)
    assert context
    weight = orders[len(context) - 1].get(context, (0.0, 0.0))[1]
    return weight + katz(orders, context[1:], word)


class BruteForce:
    """Scores paths one at a time from the n-grams themselves."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.orders = listed(rows.model)
        known = {word for (word,) in self.orders[0]}
        self.lacking = [
            token
            for token in range(VOCABULARY.tokens)
            if token not in known and token != VOCABULARY.end
        ]

    def word(self, token: int) -> int:
        if token == VOCABULARY.end:
            return END
        return UNKNOWN if token in self.lacking else token

    def log_probability(self, text: list[int], token: int) -> float:
        order = self.rows.model.order
        context = [BEGIN]
        for before in text:
            context = [BEGIN] if before == VOCABULARY.end else [*context, self.word(before)]
        context = context[max(len(context) - order + 1, 0) :] if order > 1 else []
        score = katz(self.orders, tuple(context), self.word(token))
        return score - np.log(len(self.lacking)) if token in self.lacking else score

    def paths(
        self, lattice: Lattice, text: list[int], weight: float
    ) -> list[tuple[float, tuple[int, ...]]]:
        """Returns all paths with their scores, the best first, equals by their arcs."""
        found = []
        for arcs in itertools.product(range(lattice.k), repeat=lattice.steps):
            tokens = [int(lattice.tokens[step, arc]) for step, arc in enumerate(arcs)]
            score = 0.0
            for step, arc in enumerate(arcs):
                ngram = self.log_probability([*text, *tokens[:step]], tokens[step])
                gain = lattice.scores[step, arc] + weight * ngram
                score += float(np.rint(gain / GRID) * GRID)
            found.append((-score, arcs, tuple(tokens)))
        return [(-score, tokens) for score, _, tokens in sorted(found)]


def random_lattice(source: np.random.Generator, steps: int, k: int) -> Lattice:
    logits = source.normal(size=(steps, TOKENS)) * 2
    return lattice_of(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)), k)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_best_paths_are_those_of_a_search_through_all(order: int) -> None:
    source = np.random.default_rng(order)
    brute = BruteForce(rows_of(order))
    automaton = Automaton(brute.rows)
    for steps, k in [(1, 1), (1, 5), (2, 14), (3, 6), (5, 3), (7, 2)]:
        lattice = random_lattice(source, steps, k)
        text = source.integers(TOKENS, size=int(source.integers(0, 6))).tolist()
        weight = float(source.choice([0.0, 0.1, 1.0, 3.0]))
        everything = brute.paths(lattice, text, weight)
        for count in (1, 2, 3, 8, 16):
            tokens, scores = best_paths(
                lattice, read_lattice(lattice, automaton, text), count=count, weight=weight
            )
            expected = everything[:count]
            assert scores.tolist() == [score for score, _ in expected]
            assert list(map(tuple, tokens.tolist())) == [path for _, path in expected]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_ties_go_to_the_arcs_that_the_heads_find_likelier(order: int) -> None:
    """Head scores of two values, weight 0, or only an n-gram: many paths are equal."""
    source = np.random.default_rng(10 + order)
    brute = BruteForce(rows_of(order, seed=1))
    automaton = Automaton(brute.rows)
    ties = 0
    for weight in (0.0, 1.0, 1.0):
        tokens = np.stack([source.permutation(TOKENS)[:4] for _ in range(4)])
        scores = -np.sort(source.integers(1, 3, size=(4, 4)).astype(float))
        lattice = Lattice(tokens, scores)
        if weight:  # a token that appears twice makes two indistinguishable paths
            lattice.tokens[:, 1] = lattice.tokens[:, 0]
            lattice.scores[:, 1] = lattice.scores[:, 0]
        everything = brute.paths(lattice, [3], weight)
        ties += 17 - len({score for score, _ in everything[:17]})
        arcs = read_lattice(lattice, automaton, [3])
        found, totals = best_paths(lattice, arcs, count=16, weight=weight)
        assert list(map(tuple, found.tolist())) == [t for _, t in everything[:16]]
        assert totals.tolist() == [score for score, _ in everything[:16]]
    assert ties > 20


def test_paths_end_and_begin_texts_as_the_model_reads_them() -> None:
    """After an end of text the next word follows `<s>`."""
    brute = BruteForce(rows_of(3))
    tokens = np.array([[2, TOKENS - 1], [TOKENS - 1, 4], [5, 6], [1, TOKENS - 2]])
    lattice = Lattice(tokens, np.zeros((4, 2)))
    everything = brute.paths(lattice, [1, 2], 1.0)
    arcs = read_lattice(lattice, Automaton(brute.rows), [1, 2])
    found, scores = best_paths(lattice, arcs, count=16)
    assert scores.tolist() == [score for score, _ in everything]
    assert list(map(tuple, found.tolist())) == [t for _, t in everything]


def test_without_an_ngram_the_best_paths_are_the_heads_own() -> None:
    lattice = random_lattice(np.random.default_rng(4), steps=4, k=3)
    scores = sorted(
        (
            sum(np.rint(lattice.scores[step, arc] / GRID) * GRID for step, arc in enumerate(arcs))
            for arcs in itertools.product(range(3), repeat=4)
        ),
        reverse=True,
    )
    tokens, found = best_paths(lattice, read_lattice(lattice, None, []), count=7)
    assert found.tolist() == scores[:7]
    assert tokens[0].tolist() == lattice.tokens[:, 0].tolist()


def test_all_paths_are_returned_where_there_are_fewer_than_requested() -> None:
    lattice = random_lattice(np.random.default_rng(5), steps=3, k=2)
    arcs = read_lattice(lattice, None, [])
    assert best_paths(lattice, arcs, count=100)[0].shape == (8, 3)


def test_histories_that_the_model_does_not_distinguish_are_one_state() -> None:
    """Only the listed ones of the k^(n-1) histories remain."""
    rows = rows_of(4)
    automaton = Automaton(rows)
    lattice = random_lattice(np.random.default_rng(6), steps=5, k=8)
    states = automaton.start([1, 2, 3])
    for tokens in lattice.tokens:
        states = automaton.read(states, tokens).after
    trigrams = len(rows.model.levels[2].words)
    rows_of_states = 1 + sum(len(nodes) for nodes, _ in states)
    assert 1 + 8 < rows_of_states <= 1 + 8 + 8**2 + min(8**3, trigrams)
    assert rows_of_states < 8**3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "p must be at least 1, got 0"),
        ({"count": 1, "weight": -0.5}, "weight must be finite and at least 0, got -0.5"),
        ({"count": 1, "weight": float("nan")}, "weight must be finite and at least 0, got nan"),
    ],
)
def test_impossible_searches_are_refused(arguments: dict[str, float], message: str) -> None:
    lattice = random_lattice(np.random.default_rng(7), steps=2, k=2)
    with pytest.raises(ValueError, match=message):
        best_paths(lattice, [], **arguments)


def test_a_lattice_holds_each_heads_likeliest_tokens() -> None:
    scores = np.log(np.array([[0.1, 0.4, 0.2, 0.3], [0.25, 0.25, 0.4, 0.1]]))
    lattice = lattice_of(scores, 3)
    assert lattice.tokens.tolist() == [[1, 3, 2], [2, 0, 1]]  # ties go to the smaller id
    np.testing.assert_array_equal(lattice.scores[0], scores[0][[1, 3, 2]])
    assert (lattice.steps, lattice.k) == (2, 3)


def test_ties_at_the_edge_of_a_lattice_go_to_the_smallest_ids() -> None:
    assert lattice_of(np.zeros((1, 6)), 3).tokens.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("k", [0, 5])
def test_a_lattice_wider_than_the_vocabulary_is_refused(k: int) -> None:
    message = f"k must lie in \\[1, 4\\], the tokens of the vocabulary, got {k}"
    with pytest.raises(ValueError, match=message):
        lattice_of(np.zeros((2, 4)), k)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_scores_along_every_path_are_kenlms(order: int, tmp_path: Path) -> None:
    path = written(tmp_path / "model.arpa", random_texts(2, words=9), order)
    kenlm = kenlm_model(path)
    automaton = Automaton(Rows(load_model(path), Vocabulary(10, end=9)))
    source = np.random.default_rng(order)
    text = [4, 1]
    states = automaton.start(text)
    reached: dict[tuple[int, ...], int] = {(): sum(len(nodes) for nodes, _ in states)}
    for _ in range(4):
        tokens = source.permutation(9)[:4]
        arcs = automaton.read(states, tokens)
        longer: dict[tuple[int, ...], int] = {}
        for words, state in reached.items():
            before = kenlm_state(kenlm, [BEGIN, *text, *words])
            for place, word in enumerate(tokens.tolist()):
                after = type(before)()
                expected = kenlm.BaseScore(before, str(word), after) * LN10
                assert arcs.log_probability[state, place] == pytest.approx(expected, abs=2e-5)
                longer[*words, word] = int(arcs.target[state, place])
        reached, states = longer, arcs.after
