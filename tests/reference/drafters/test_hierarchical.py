"""A draft model that is itself drafted: its joint law is its own, and the output the target's."""

from collections import Counter
from collections.abc import Callable, Sequence
from unittest.mock import Mock

import pytest
import torch

from ngram.drafters import PromptLookupDrafter
from reference.drafter import Draft, Drafter
from reference.drafters.model_drafter import HierarchicalDrafter, ModelDrafter, RandomDrafter
from reference.laws import Laws, Sampling
from reference.policies import Fixed, Policy
from reference.records import Block, Generation, Stopping
from tests.reference.chi_squared import require_law
from tests.reference.decoding import speculate
from tests.reference.enumeration import own_law
from tests.reference.plain_laws import random_table
from tests.reference.tabular import Table, TabularModel

VOCABULARY = 3
PROMPT = [0, 1]


TARGET = random_table(1, VOCABULARY)
ZEROS = random_table(5, VOCABULARY, zeros=1)


def near(seed: int) -> Table:
    """Returns a law halfway between the target's law and another."""
    other = random_table(seed, VOCABULARY)
    return lambda text: [(p + q) / 2 for p, q in zip(TARGET(text), other(text), strict=True)]


class Checked:
    """A drafter whose every proposal must carry the laws that a table gives for its text."""

    def __init__(self, drafter: Drafter, law: Callable[[Sequence[int]], Sequence[float]]) -> None:
        self.drafter = drafter
        self.law = law
        self.name = drafter.name
        self.forward_seconds = 0.0
        self.score = drafter.score
        self.start = drafter.start
        self.lengths: list[int] = []

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        draft = self.drafter.propose(text, limit, policy, generator)
        tokens = draft.tokens.tolist()
        assert len(tokens) <= limit
        self.lengths.append(len(tokens))
        laws = draft.q.dense(VOCABULARY).double()
        for index in range(len(tokens)):
            expected = torch.tensor(self.law([*text, *tokens[:index]]), dtype=torch.float64)
            torch.testing.assert_close(laws[index], expected)
        return draft


class Rotating(Policy):
    """Asks for 0, 1, ..., 5 tokens in turn."""

    name = "rotating"

    def gamma(self, blocks: Sequence[Block]) -> int:
        return len(blocks) % 6


class UntilZero(Policy):
    """Drafts until token 0 comes up."""

    name = "until zero"

    def gamma(self, blocks: Sequence[Block]) -> int:
        return 8

    def goes_on(self, token: torch.Tensor, q: Laws) -> bool:
        assert q.of(token).shape == (1,)
        return token.item() != 0


def model_drafter(law: Table, name: str, sampling: Sampling) -> ModelDrafter:
    return ModelDrafter(TabularModel(law, VOCABULARY, name), sampling, VOCABULARY)


def hierarchy(second: Table, gamma: int, sampling: Sampling) -> HierarchicalDrafter:
    """Returns a draft of law near(2), itself drafted by a model of the given law."""
    draft = model_drafter(near(2), "draft", sampling)
    return HierarchicalDrafter(draft, model_drafter(second, "second", sampling), gamma)


def three_stages(sampling: Sampling, gammas: tuple[int, int] = (3, 2)) -> HierarchicalDrafter:
    """Returns a draft of law near(2), drafted by one of near(3), drafted by a table of zeros."""
    second = model_drafter(near(3), "second", sampling)
    inner = HierarchicalDrafter(second, model_drafter(ZEROS, "third", sampling), gammas[1])
    return HierarchicalDrafter(model_drafter(near(2), "draft", sampling), inner, gammas[0])


def run(
    drafter: Drafter, policy: Policy, tokens: int, generator: torch.Generator, temperature: float
) -> Generation:
    target, sampling = TabularModel(TARGET, VOCABULARY, "target"), Sampling(temperature)
    return speculate(
        target, drafter, PROMPT, sampling, policy, Stopping(tokens), generator=generator
    )


@pytest.mark.parametrize(
    "drafter",
    [
        *(hierarchy(near(3), gamma, Sampling()) for gamma in (0, 1, 4)),
        *(hierarchy(ZEROS, gamma, Sampling()) for gamma in (0, 1, 4)),
        three_stages(Sampling()),
    ],
)
def test_drafted_tokens_have_the_joint_law_of_the_draft(drafter: HierarchicalDrafter) -> None:
    generator = torch.Generator().manual_seed(4)
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(400):
        drafter.start(PROMPT, PROMPT)
        counts[tuple(drafter.propose(PROMPT, 3, Fixed(3), generator).tokens.tolist())] += 1
    require_law(counts, own_law(near(2), PROMPT, new_tokens=3))


def test_texts_have_the_law_of_the_target() -> None:
    drafter = hierarchy(ZEROS, 2, Sampling())
    generator = torch.Generator().manual_seed(11)
    counts = Counter(run(drafter, UntilZero(), 4, generator, 1.0).tokens for _ in range(400))
    require_law(counts, own_law(TARGET, PROMPT, new_tokens=4))


@pytest.mark.parametrize("policy", [Fixed(1), Fixed(4), Rotating(), UntilZero()])
@pytest.mark.parametrize("gamma", [1, 3])
@pytest.mark.parametrize("second", [near(2), near(3)])
def test_both_stages_carry_the_laws_of_the_text_before_them(
    second: Table, gamma: int, policy: Policy
) -> None:
    """A cache out of step, in either stage, would give the laws of another text."""
    sampling = Sampling()
    inner = Checked(model_drafter(second, "second", sampling), second)
    outer = Checked(
        HierarchicalDrafter(model_drafter(near(2), "draft", sampling), inner, gamma), near(2)
    )
    generation = run(outer, policy, 120, torch.Generator().manual_seed(5), 1.0)
    assert 0 < generation.accepted < generation.drafted


def test_greedy_texts_are_the_targets_own() -> None:
    generator, greedy = torch.Generator(), Sampling(0.0)
    own = run(RandomDrafter(VOCABULARY, torch.device("cpu")), Fixed(0), 40, generator, 0.0)
    drafters = [hierarchy(near(3), gamma, greedy) for gamma in (1, 3)]
    drafters += [three_stages(greedy, gammas) for gammas in ((1, 1), (3, 2), (2, 5))]
    for drafter in drafters:
        for gamma in (1, 5):
            assert run(drafter, Fixed(gamma), 40, generator, 0.0).tokens == own.tokens


@pytest.mark.parametrize("policy", [Fixed(5), Rotating(), UntilZero()])
def test_a_lookup_can_draft_for_the_draft(policy: Policy) -> None:
    """It often finds no match, and its index of the text shrinks when the target rejects."""
    sampling = Sampling()
    lookup = PromptLookupDrafter(device=torch.device("cpu"))
    outer = Checked(
        HierarchicalDrafter(model_drafter(near(2), "draft", sampling), lookup, 3), near(2)
    )
    generator = torch.Generator().manual_seed(6)
    for tokens in range(20, 40, 3):
        generation = run(outer, policy, tokens, generator, 1.0)
        text = [*generation.text, *generation.tokens]
        fresh = PromptLookupDrafter(device=torch.device("cpu"))
        fresh.start(PROMPT, PROMPT)
        expected = fresh.propose(text, 6, Fixed(6), generator).tokens.tolist()
        assert lookup.propose(text, 6, Fixed(6), generator).tokens.tolist() == expected


def test_a_draft_is_never_longer_than_the_limit() -> None:
    drafter = Checked(hierarchy(near(2), 3, Sampling()), near(2))
    drafter.start(PROMPT, PROMPT)
    generator = torch.Generator().manual_seed(0)
    for limit in range(8):
        drafter.propose(PROMPT, limit, Fixed(limit), generator)
    assert drafter.lengths == list(range(8))


def test_a_perfect_second_stage_makes_one_pass_of_the_draft_for_each_block() -> None:
    drafter = hierarchy(near(2), 4, Sampling())
    counted = Mock(wraps=drafter.model.draft.extend)
    drafter.model.draft.extend = counted  # type: ignore[method-assign]
    drafter.start(PROMPT, PROMPT)
    draft = drafter.propose(PROMPT, 10, Fixed(10), torch.Generator().manual_seed(0))
    assert (len(draft.tokens), counted.call_count) == (10, 2)


def test_a_policy_ends_the_draft_with_the_block_that_made_it_stop() -> None:
    """The block's later tokens are submitted too: once drawn, none is dropped."""
    drafter = hierarchy(near(2), 3, Sampling())
    generator = torch.Generator().manual_seed(2)
    for _ in range(40):
        drafter.start(PROMPT, PROMPT)
        tokens = drafter.propose(PROMPT, 12, UntilZero(), generator).tokens.tolist()
        assert len(tokens) % 4 == 0
        assert 0 not in tokens[:-4]
        assert 0 in tokens[-4:] or len(tokens) == 12


def test_name_and_seconds_are_those_of_both_stages() -> None:
    drafter = hierarchy(near(3), 2, Sampling())
    assert drafter.name == "draft via second"
    assert drafter.forward_seconds == 0.0
    assert three_stages(Sampling()).name == "draft via second via third"


@pytest.mark.parametrize("policy", [Fixed(4), Rotating(), UntilZero()])
def test_every_stage_of_three_carries_the_laws_of_the_text_before_it(policy: Policy) -> None:
    sampling = Sampling()
    third = Checked(model_drafter(ZEROS, "third", sampling), ZEROS)
    middle = HierarchicalDrafter(model_drafter(near(3), "second", sampling), third, 2)
    second = Checked(middle, near(3))
    first = Checked(
        HierarchicalDrafter(model_drafter(near(2), "draft", sampling), second, 3), near(2)
    )
    generation = run(first, policy, 120, torch.Generator().manual_seed(5), 1.0)
    assert 0 < generation.accepted < generation.drafted
