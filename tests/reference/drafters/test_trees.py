"""Trees drafted by a model: lossless by enumeration, and each token has its law."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from reference.drafter import Draft, score_text
from reference.drafters.model_drafter import ModelDrafter
from reference.drafters.trees import Choose, TreeDrafter, likeliest, without_replacement
from reference.laws import Dense, OneHot, Sampling
from reference.policies import Fixed
from reference.records import Stopping
from reference.rules import Lenient, Strict
from reference.scoring import ScoreOptions, ranks
from tests.reference.combinations import (
    DRAFT,
    PROMPT,
    SETTINGS,
    TARGET,
    VOCABULARY,
    covering,
    model_drafter,
    table_text,
)
from tests.reference.decoding import alone, require_accepted, scored, speculate
from tests.reference.enumeration import STRICT_ACCEPTANCE, require_own_law, walk_choices
from tests.reference.plain_laws import plain_law, random_table
from tests.reference.tabular import Table, TabularModel
from tests.reference.test_decoder_architectures import random_prompt, saved_pair

CHOICES: dict[str, Choose] = {"likeliest": likeliest, "drawn": without_replacement}
# Two and two; a chain and a leaf; as wide as the vocabulary, and wider than it.
SHAPES = {
    "two and two": (-1, -1, 0, 0, 1, 1),
    "chain and leaf": (-1, 0, -1),
    "whole": (-1, -1, -1, 0),
    "too wide": (-1, -1, -1, -1, 3),
    "chain": (-1, 0),
}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(("shape", "setting"), covering(list(SHAPES), list(SETTINGS)))
def test_law_of_texts_is_the_targets(
    shape: str, setting: str, choice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampling = SETTINGS[setting]

    def run() -> tuple[int, ...]:
        drafter = TreeDrafter(model_drafter(DRAFT, sampling), SHAPES[shape], CHOICES[choice])
        return table_text(drafter, sampling, Fixed(2), 3).tokens

    law = walk_choices(monkeypatch, STRICT_ACCEPTANCE).law(run)
    require_own_law(law, TARGET, sampling, PROMPT, new_tokens=3)


def test_judging_each_child_against_the_whole_target_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error that recursive rejection avoids: what an elder's rejection leaves is forgotten."""
    monkeypatch.setattr(Strict, "replacement", lambda _, p, q, tokens, place: p.at(place))

    def run() -> tuple[int, ...]:
        drafter = TreeDrafter(model_drafter(DRAFT, Sampling()), (-1, -1), without_replacement)
        return table_text(drafter, Sampling(), Fixed(1), 2).tokens

    law = walk_choices(monkeypatch, STRICT_ACCEPTANCE).law(run)
    with pytest.raises(AssertionError):
        require_own_law(law, TARGET, Sampling(), PROMPT, new_tokens=2, tolerance=1e-3)


def path_of(place: int, parents: Sequence[int], tokens: Sequence[int]) -> list[int]:
    path: list[int] = []
    while place >= 0:
        path.insert(0, tokens[place])
        place = parents[place]
    return path


@pytest.mark.parametrize("shape", SHAPES)
def test_children_are_the_likeliest_after_their_path(shape: str) -> None:
    draft = random_table(7, VOCABULARY)
    drafter = TreeDrafter(model_drafter(draft, Sampling()), SHAPES[shape])
    drafter.start(PROMPT, PROMPT)
    for text in ([*PROMPT], [*PROMPT, 2], [*PROMPT, 2, 1, 0]):
        made = drafter.propose(text, 3, Fixed(3), torch.Generator())
        require_likeliest(made, text, draft)


def require_likeliest(made: Draft, text: list[int], law: Table) -> None:
    """Fails unless the children of each token are the likeliest after the text and their path."""
    assert made.parents is not None
    assert isinstance(made.q, OneHot)
    tokens = made.tokens.tolist()
    for parent in {-1, *made.parents}:
        own = [tokens[place] for place, above in enumerate(made.parents) if above == parent]
        after = law([*text, *path_of(parent, made.parents, tokens)])
        assert own == sorted(range(VOCABULARY), key=lambda token: -after[token])[: len(own)]


@pytest.mark.parametrize("seed", range(6))
def test_children_are_of_the_law_that_settings_make_of_text_and_path(seed: int) -> None:
    """A penalty of the tokens in the text and the path, so that forgetting either is noticed."""
    draft, sampling = random_table(seed, VOCABULARY), Sampling(repetition_penalty=3.0)
    parents = (-1, -1, 0, 0, 1, 2, 2, 2, 4, 4)
    drafter = TreeDrafter(model_drafter(draft, sampling), parents)
    drafter.start(PROMPT, PROMPT)
    made = drafter.propose(PROMPT, 3, Fixed(3), torch.Generator())
    assert made.parents == parents
    require_likeliest(made, [*PROMPT], lambda text: plain_law(draft(text), sampling, text))


def test_likeliest_are_those_possible_and_of_equal_ones_the_smallest_ids() -> None:
    source = torch.Generator()
    tokens, q = likeliest(Dense(torch.tensor([[0.5, 0.0, 0.5, 0.0]])), 3, source)
    assert tokens.tolist() == [0, 2]
    assert isinstance(q, OneHot)
    # Many equal ones: a sort that is not stable mixes them.
    logits = torch.zeros(1, 4096).index_fill(1, torch.tensor([7, 4000]), 1.0)
    tokens, _ = likeliest(OneHot(torch.tensor([7]), logits), 40, source)
    assert tokens.tolist() == [7, 4000, *[token for token in range(39) if token != 7]]


@pytest.mark.parametrize("choice", CHOICES)
def test_draws_come_of_the_run_s_own_generator_alone(choice: str) -> None:
    def run(seed: int) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        drafter = TreeDrafter(model_drafter(DRAFT, Sampling()), (-1, -1, 0, 1), CHOICES[choice])
        generator = torch.Generator().manual_seed(seed)
        made = table_text(drafter, Sampling(), Fixed(2), 60, generator=generator)
        return made.tokens, [block.drafted for block in made.blocks]

    before = torch.get_rng_state()
    first = run(1)
    assert torch.equal(torch.get_rng_state(), before)
    assert run(1) == first
    assert run(2)[0] != first[0]  # two texts of 60 tokens; equal with odds below 1e-12
    # A block drafted the accepted path and, to depth 2, the continuation of its likeliest branch.
    assert {len(drafted) for drafted in first[1][:-2]} == {2}
    assert all(token in range(VOCABULARY) for drafted in first[1] for token in drafted)


def test_drawn_children_differ_and_carry_their_laws() -> None:
    drafter = TreeDrafter(
        model_drafter(TARGET, Sampling()), (-1, -1, -1, 0, 0), without_replacement
    )
    generator = torch.Generator().manual_seed(0)
    drafter.start(PROMPT, PROMPT)
    for _ in range(50):
        made = drafter.propose(PROMPT, 2, Fixed(2), generator)
        tokens = made.tokens.tolist()
        assert sorted(tokens[:3]) == [0, 1, 2]
        law = list(TARGET(PROMPT))
        for place in range(3):
            expected = [mass / sum(law) for mass in law]
            assert made.q.dense(VOCABULARY)[place].tolist() == pytest.approx(expected, abs=1e-12)
            law[tokens[place]] = 0.0


@pytest.mark.parametrize("architecture", ["Llama", "GPT2", "Qwen3", "GPTNeoX"])
def test_greedy_texts_of_models_are_the_targets_own(architecture: str, tmp_path: Path) -> None:
    target, draft = saved_pair(architecture, tmp_path, 1)
    greedy = Sampling(0.0)
    drafter = TreeDrafter(
        ModelDrafter(draft, greedy, target.vocabulary), (-1, -1, -1, 0, 0, 1, 3, 3, 6)
    )
    prompt = random_prompt(6, 2)
    made = speculate(target, drafter, prompt, greedy, Fixed(4), Stopping(20))
    assert made.tokens == alone(target, prompt, greedy, Stopping(20)).tokens
    assert sum(block.accepted for block in made.blocks) > 0


def test_ranks_count_the_likelier_tokens_and_equal_ones_of_smaller_id() -> None:
    odds = torch.tensor([[0.1, 0.4, 0.4, 0.1], [0.7, 0.1, 0.1, 0.1]])
    for law in (Dense(odds), OneHot(odds.argmax(dim=-1), odds.log())):
        assert [ranks(law, torch.tensor([token, token])).tolist() for token in range(4)] == [
            [2, 0],
            [0, 1],
            [1, 2],
            [3, 3],
        ]
        tokens, _ = likeliest(law.at(torch.tensor([0])), 4, torch.Generator())
        assert tokens.tolist() == [1, 2, 0, 3]
    assert ranks(OneHot(torch.tensor([1])), torch.tensor([1])) is None


def test_a_chain_of_likeliest_tokens_is_accepted_as_argmax_drafts() -> None:
    calls = []
    for drafter in (
        TreeDrafter(model_drafter(DRAFT, Sampling()), (-1, 0, 1)),
        model_drafter(DRAFT, Sampling(0.0)),
    ):
        texts = [
            table_text(
                drafter, Sampling(), Fixed(3), 12, generator=torch.Generator().manual_seed(seed)
            )
            for seed in range(100)
        ]
        counts = [text.target_calls for text in texts]
        calls.append((sum(counts) / 100, sum(count**2 for count in counts) / 100))
    spread = math.sqrt(sum(second - first**2 for first, second in calls) / 100)
    assert abs(calls[0][0] - calls[1][0]) < 5 * spread  # odds of a false alarm: 6e-7


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_scores_along_a_text_tell_every_call_of_a_tree(shape: str, temperature: float) -> None:
    sampling, limit = Sampling(temperature), 9
    target = TabularModel(TARGET, VOCABULARY)
    for seed in range(1 if sampling.greedy else 20):  # greedy texts are all equal
        drafter = TreeDrafter(model_drafter(DRAFT, Sampling(0.0)), SHAPES[shape])
        generator = torch.Generator().manual_seed(seed)
        for gamma in (1, 2, 4):
            text = table_text(drafter, sampling, Fixed(gamma), limit, generator=generator)
            scores = scored(
                target, drafter, PROMPT, text.tokens, gamma, sampling, own=drafter.sampling
            )
            require_accepted(text, scores, gamma)
            assert scores.drafted is not None
            assert scores.drafted.tolist() == [min(gamma, 2)] * len(text.tokens)
            assert scores.lenient_beta.shape == (len(text.tokens), 0)
        firsts = SHAPES[shape].count(-1)
        for place, (token, beta) in enumerate(zip(text.tokens, scores.beta.tolist(), strict=True)):
            after = DRAFT([*PROMPT, *text.tokens[:place]])
            likelier = sum(odds > after[token] for odds in after)
            assert beta == (likelier < firsts and after[token] > 0)


def test_scores_do_not_depend_on_how_a_text_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    target = TabularModel(TARGET, VOCABULARY)
    drafter = TreeDrafter(model_drafter(DRAFT, Sampling(0.0)), (-1, -1, 0, 2))
    generator = torch.Generator().manual_seed(3)
    tokens = alone(target, PROMPT, Sampling(), Stopping(20), generator=generator).tokens
    found = []
    for numbers in (1 << 23, 3 * VOCABULARY):
        monkeypatch.setattr("reference.drafter.ROW_NUMBERS", numbers)
        found.append(scored(target, drafter, PROMPT, tokens, 3, Sampling(), own=Sampling(0.0)))
    whole, cut = found
    assert torch.equal(whole.ratio, cut.ratio)
    assert torch.equal(whole.beta, cut.beta)
    assert set(whole.ratio.ravel().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("text", [Sampling(), Sampling(0.0)], ids=["drawn", "greedy"])
def test_scores_of_settings_together_are_those_of_each_alone(
    text: Sampling, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = 24  # so many that a text of 20 repeats some and lacks others
    monkeypatch.setattr("reference.drafter.ROW_NUMBERS", 3 * words)  # read in parts
    target = TabularModel(random_table(1, words), words)
    draft = TabularModel(random_table(1, words), words)
    drafter = TreeDrafter(ModelDrafter(draft, Sampling(0.0), words), (-1, 0, 1))
    generator = torch.Generator().manual_seed(3)
    tokens = alone(target, PROMPT, text, Stopping(20), generator=generator).tokens

    def ratios(*settings: Sampling) -> list[list[list[float]]]:
        options = ScoreOptions(settings, (), 3)
        found = score_text(target, drafter, PROMPT, tokens, options, sampling=Sampling())
        return [scores.ratio.tolist() for scores in found]

    plain, penalised = Sampling(0.0), Sampling(0.0, repetition_penalty=4.0)
    together = ratios(plain, penalised)
    assert together == [*ratios(plain), *ratios(penalised)]
    assert together[0] != together[1]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("choice", CHOICES)
def test_a_draft_that_has_no_law_is_named(choice: str, temperature: float) -> None:
    sampling = Sampling(temperature)
    drafter = TreeDrafter(
        model_drafter(lambda _: [math.nan] * VOCABULARY, sampling), (-1, -1, 0), CHOICES[choice]
    )
    with pytest.raises(FloatingPointError, match=f"^{drafter.name} returned"):
        table_text(drafter, sampling, Fixed(2), 3)
    later = TreeDrafter(
        model_drafter(lambda text: [math.nan if len(text) > 4 else 1 / VOCABULARY] * VOCABULARY,
                      sampling),
        (-1, 0), CHOICES[choice],
    )  # fmt: skip
    later.start([0, 1, 2, 0], [0, 1, 2, 0])
    with pytest.raises(FloatingPointError, match=r"logits at position 5$"):
        later.propose([0, 1, 2, 0], 2, Fixed(2), torch.Generator())


def test_a_target_without_a_law_is_named_with_its_place() -> None:
    target = TabularModel(lambda _: [math.nan] * VOCABULARY, VOCABULARY, "broken")
    drafter = TreeDrafter(model_drafter(DRAFT, Sampling()), (-1, -1))
    message = f"^broken returned NaN or infinite logits at position {len(PROMPT)}$"
    with pytest.raises(FloatingPointError, match=message):
        speculate(target, drafter, PROMPT, Sampling(), Fixed(1), Stopping(3))


def test_a_tree_without_nodes_drafts_nothing() -> None:
    drafter = TreeDrafter(model_drafter(DRAFT, Sampling()), ())
    blocks = table_text(drafter, Sampling(), Fixed(2), 5).blocks
    assert [len(block.drafted) for block in blocks] == [0] * 5


def test_trees_of_drawn_tokens_are_not_scored() -> None:
    drafter = TreeDrafter(model_drafter(DRAFT, Sampling()), (-1, -1), without_replacement)
    target, options = TabularModel(TARGET, VOCABULARY), ScoreOptions([Sampling()], (), 1)
    with pytest.raises(ValueError, match="a tree to score must be of likeliest tokens"):
        score_text(target, drafter, PROMPT, (0, 1), options, sampling=Sampling())


def test_bad_trees_are_refused(tmp_path: Path) -> None:
    model = model_drafter(DRAFT, Sampling())
    with pytest.raises(ValueError, match="parents must be earlier nodes or -1, got 1 for node 1"):
        TreeDrafter(model, (-1, 1))
    with pytest.raises(ValueError, match="parents must be earlier nodes or -1, got -2 for node 0"):
        TreeDrafter(model, (-2,))
    short = TabularModel(DRAFT, VOCABULARY, "short")
    short.max_length = 3
    with pytest.raises(
        ValueError, match="a tree must have at most 3 nodes, the positions of short, got 4"
    ):
        TreeDrafter(ModelDrafter(short, Sampling(), VOCABULARY), (-1, -1, -1, 0))
    fitting = TreeDrafter(ModelDrafter(short, Sampling(), VOCABULARY), (-1, -1, -1))
    assert fitting.parents == (-1, -1, -1)
    assert fitting.name == f"{fitting.model.name}, tree of 3"
    with pytest.raises(ValueError, match="a draft that branches needs the strict rule"):
        table_text(TreeDrafter(model, (-1, -1)), Sampling(), Fixed(1), 3, rule=Lenient(0.5))
