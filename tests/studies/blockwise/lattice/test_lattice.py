"""A lattice holds each head's likeliest tokens; its automaton scores them as KenLM does."""

from pathlib import Path

import numpy as np
import pytest
from corpora import random_texts, written
from oracles import LN10, kenlm_model, kenlm_state

from ngram.formats.model_files import load_model
from ngram.rows.rows import Rows
from ngram.rows.words import BEGIN, Vocabulary
from studies.blockwise.lattice.automaton import Automaton
from studies.blockwise.lattice.best_paths import lattice_of


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
    reached = {(): states.rows - 1}
    for _ in range(4):
        tokens = source.permutation(9)[:4]
        arcs = automaton.read(states, tokens)
        longer = {}
        for words, state in reached.items():
            before = kenlm_state(kenlm, [BEGIN, *text, *words])
            for place, word in enumerate(tokens.tolist()):
                after = type(before)()
                expected = kenlm.BaseScore(before, str(word), after) * LN10
                assert arcs.log_probability[state, place] == pytest.approx(expected, abs=2e-5)
                longer[*words, word] = int(arcs.target[state, place])
        reached, states = longer, arcs.after
