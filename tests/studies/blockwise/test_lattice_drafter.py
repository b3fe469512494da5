"""Drafts from a lattice: chosen as the paper says, verified without loss, scored as drafted."""

import functools
from collections.abc import Callable

import numpy as np
import pytest
import torch

from ngram.rows.rows import Rows, Vocabulary
from reference.drafter import score_text
from reference.laws import Sampling
from reference.policies import Confidence, Fixed
from reference.records import Stopping
from reference.rules import Strict
from reference.scoring import ScoreOptions
from studies.blockwise.best_paths import Automaton, Lattice, best_paths, lattice_of, read_lattice
from studies.blockwise.heads import HeadsDrafter
from studies.blockwise.rescoring import GlobalRescoring, LatticeDrafter, LocalRescoring
from tests.ngram.corpora import random_texts, trained_model
from tests.reference.combinations import TARGET, VOCABULARY
from tests.reference.decoding import alone, speculate
from tests.reference.enumeration import own_law, require_equal, walk_choices
from tests.reference.plain_laws import plain_law, random_table
from tests.reference.tabular import TabularModel
from tests.studies.heads_laboratory import heads_drafter

GREEDY = Sampling(0.0)


@functools.cache
def automaton(order: int) -> Automaton:
    texts = random_texts(3, texts=30, words=VOCABULARY - 1)
    return Automaton(Rows(trained_model(texts, order), Vocabulary(VOCABULARY, end=2)))


def local(weight: float = 0.7) -> LocalRescoring:
    model = TabularModel(random_table(9, VOCABULARY), VOCABULARY, "small")
    return LocalRescoring(model, VOCABULARY, weight=weight)


RESCORINGS: dict[str, Callable[[], LocalRescoring | GlobalRescoring]] = {
    "local": local,
    "2-gram": lambda: GlobalRescoring(automaton(2), weight=1.0, count=1),
    "3-gram": lambda: GlobalRescoring(automaton(3), weight=0.5, count=1),
    "parallel": lambda: GlobalRescoring(None, weight=1.0, count=3),
    "parallel 4-gram": lambda: GlobalRescoring(automaton(4), weight=2.0, count=4),
}


def drafter(target: TabularModel, rescoring: str, k: int = 2) -> LatticeDrafter:
    heads = heads_drafter(target, GREEDY, seed=28)
    assert isinstance(heads, HeadsDrafter)
    return LatticeDrafter(heads, RESCORINGS[rescoring](), k=k, name=rescoring)


@pytest.mark.parametrize("rescoring", RESCORINGS)
def test_greedy_output_is_the_targets(rescoring: str) -> None:
    target = TabularModel(TARGET, VOCABULARY)
    stopping = Stopping(50)
    own = alone(target, (0, 1), GREEDY, stopping)
    for gamma in (2, 3, 8):
        chosen = drafter(target, rescoring)
        generation = speculate(target, chosen, (0, 1), GREEDY, Fixed(gamma), stopping)
        assert generation.tokens == own.tokens
        assert generation.accepted > 0


@pytest.mark.parametrize("rescoring", RESCORINGS)
@pytest.mark.parametrize("temperature", [0.6, 1.0])
def test_law_of_sampled_texts_is_the_targets(
    rescoring: str, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enumerated, up to rounding."""
    sampling = Sampling(temperature)

    def run() -> tuple[int, ...]:
        target = TabularModel(TARGET, VOCABULARY)
        chosen = drafter(target, rescoring)
        return speculate(target, chosen, (0, 1), sampling, Fixed(2), Stopping(3)).tokens

    law = walk_choices(monkeypatch, {Strict: lambda p, q: min(1.0, p / q)}).law(run)
    expected = own_law(lambda text: plain_law(TARGET(text), sampling, text), (0, 1), new_tokens=3)
    require_equal(law, expected, tolerance=1e-12)


@pytest.mark.parametrize("rescoring", RESCORINGS)
def test_scores_replay_the_blocks_of_the_decoder(rescoring: str) -> None:
    """At temperature 0 a row of 0s and 1s says where each block would end."""
    target = TabularModel(TARGET, VOCABULARY)
    own = alone(target, (0, 1), GREEDY, Stopping(30)).tokens
    chosen, options = drafter(target, rescoring), ScoreOptions([GREEDY], [1.0], 3)
    [scores] = score_text(target, chosen, (0, 1), own, options, sampling=GREEDY)
    torch.testing.assert_close(scores.lenient_beta[:, 0], scores.beta)
    for gamma in (1, 2, 3):
        chosen, at = drafter(target, rescoring), 0
        generation = speculate(target, chosen, (0, 1), GREEDY, Fixed(gamma), Stopping(30))
        for block in generation.blocks:
            length = min(gamma, 29 - at)
            row = scores.acceptance[at : at + length].diagonal().tolist()
            assert row == [1.0] * block.accepted + [0.0] * (length - block.accepted)
            assert scores.beta[at] == scores.acceptance[at, 0]
            at += len(block.tokens)
    assert scores.drafted is not None
    assert scores.drafted.tolist() == [3] * 30


def test_local_rescoring_adds_weighted_logits_step_by_step() -> None:
    """Longhand: argmax over S_j of z_j + alpha r, r after the tokens chosen before."""
    table = random_table(9, VOCABULARY)
    source = np.random.default_rng(2)
    changed = 0
    rescoring = local(weight=1.3)
    text = [0, 1]
    rescoring.start(text)
    for _ in range(20):
        text = [*text, int(source.integers(VOCABULARY))]
        lattice = lattice_of(np.log(source.dirichlet(np.ones(VOCABULARY), size=4)), 2)
        (draft,) = rescoring.drafts(lattice, text, 4).tolist()
        expected: list[int] = []
        for tokens, scores in zip(lattice.tokens.tolist(), lattice.scores, strict=True):
            law = table([*text, *expected])
            sums = [z + 1.3 * np.log(law[x]) for x, z in zip(tokens, scores, strict=True)]
            expected.append(tokens[int(np.argmax(sums))])
        assert draft == expected
        changed += expected != lattice.tokens[:, 0].tolist()
    assert changed > 3


def test_a_weight_of_zero_leaves_the_heads_own_draft() -> None:
    lattice = lattice_of(np.log(np.random.default_rng(1).dirichlet(np.ones(3), size=4)), 3)
    rescoring = local(weight=0.0)
    rescoring.start([0, 1])
    assert rescoring.drafts(lattice, [0, 1, 2], 9).tolist() == [lattice.tokens[:, 0].tolist()]


def test_beyond_the_small_models_positions_the_heads_choose() -> None:
    rescoring = local(weight=50.0)
    rescoring.model.max_length = 5
    lattice = Lattice(np.array([[0, 1, 2]] * 4), np.log(np.array([[0.5, 0.3, 0.2]] * 4)))
    rescoring.start([1, 1])
    (draft,) = rescoring.drafts(lattice, [1, 1, 2, 2], 4).tolist()
    assert draft[2:] == [0, 0]


def test_global_rescoring_is_the_best_paths() -> None:
    lattice = lattice_of(np.log(np.random.default_rng(1).dirichlet(np.ones(3), size=4)), 3)
    rescoring = GlobalRescoring(automaton(3), weight=0.5, count=6)
    arcs = read_lattice(lattice, automaton(3), [0, 1])
    expected, _ = best_paths(lattice, arcs, count=6, weight=0.5)
    for limit in (1, 2, 3, 4, 9):
        drafts = rescoring.drafts(lattice, [0, 1], limit)
        assert np.array_equal(drafts, expected[:, :limit])


def test_a_policy_ends_a_rescored_draft() -> None:
    class Unsure(Confidence):
        def goes_on(self, token: torch.Tensor, q: object) -> bool:
            return False

    target = TabularModel(TARGET, VOCABULARY)
    target.start([0, 1])
    draft = drafter(target, "2-gram").propose([0, 1], 3, Unsure(0.5, most=3), torch.Generator())
    assert len(draft.tokens) == 1


def test_drafters_that_cannot_rescore_are_refused() -> None:
    target = TabularModel(TARGET, VOCABULARY)
    with pytest.raises(ValueError, match=r"k must lie in \[1, 3\], the tokens of the voc.*got 4"):
        drafter(target, "2-gram", k=4)
    with pytest.raises(ValueError, match="p must be at least 1, got 0"):
        GlobalRescoring(None, weight=1.0, count=0)
    with pytest.raises(ValueError, match="weight must be finite and at least 0, got inf"):
        local(float("inf"))
