"""Drafting with a model: caches in step, vocabularies of two widths, two dtypes, few positions."""

from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from reference.drafter import text_laws
from reference.drafters.model_drafter import ModelDrafter, RandomDrafter
from reference.laws import Dense, Laws, Sampling
from reference.models.architectures import CausalModel
from reference.models.model import FittedModel, fitted
from reference.policies import Fixed, Policy
from reference.records import Block, Generation, Stopping
from reference.scoring import ScoreOptions, Stretch
from tests.reference import tiny_models
from tests.reference.chi_squared import require_law
from tests.reference.decoding import alone, speculate_models
from tests.reference.enumeration import own_law
from tests.reference.tabular import TabularModel
from tests.reference.tiny_models import drawn

PROMPT = [3, 1, 4, 1, 5]


def llama(
    vocabulary: int = 40, *, seed: int = 1, dtype: torch.dtype = torch.float32
) -> CausalModel:
    """Returns a random model whose layers do something."""
    sizes = {"intermediate_size": 32, "num_key_value_heads": 1, "max_position_embeddings": 64}
    module = drawn(tiny_models.llama(seed, vocab_size=vocabulary, **sizes), 0.3)
    return CausalModel(module.to(dtype), f"llama {vocabulary}")


class Rotating(Policy):
    """Asks for 0, 1, ..., 4 tokens in turn."""

    name = "rotating"

    def gamma(self, blocks: Sequence[Block]) -> int:
        return len(blocks) % 5


class Spied:
    """A model that notes how many tokens each pass is fed."""

    def __init__(self, model: CausalModel) -> None:
        self.model = model
        self.fed: list[int] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self.model, name)

    def extend(self, tokens: Tensor) -> Tensor:
        self.fed.append(len(tokens))
        return self.model.extend(tokens)


def greedy(
    target: CausalModel, draft: CausalModel | Spied, policy: Fixed | Rotating, tokens: int = 30
) -> Generation:
    return speculate_models(target, draft, PROMPT, Sampling(0.0), policy, Stopping(tokens))


def own(target: CausalModel, tokens: int = 30) -> tuple[int, ...]:
    return alone(target, PROMPT, Sampling(0.0), Stopping(tokens)).tokens


def test_after_full_acceptance_the_draft_is_fed_two_tokens() -> None:
    target, draft = llama(), Spied(llama())
    generation = greedy(target, draft, Fixed(3), tokens=12)
    assert [block.accepted for block in generation.blocks] == [3, 3, 3]
    assert draft.fed == [1, 1, 1, 2, 1, 1, 2, 1, 1]


def test_blocks_that_draft_nothing_keep_the_draft_in_step() -> None:
    """Drafted by its own copy, the target accepts everything: unless the copy lost step."""
    target, draft = llama(), Spied(llama())
    generation = greedy(target, draft, Rotating())
    assert generation.tokens == own(target)
    assert all(block.accepted == block.gamma for block in generation.blocks)
    assert max(draft.fed) == 3  # two tokens of the target's own after a fully accepted draft


@pytest.mark.parametrize(("target_width", "draft_width"), [(40, 48), (48, 40)])
def test_greedy_text_is_the_targets_own_over_vocabularies_of_two_widths(
    target_width: int, draft_width: int
) -> None:
    target, draft = llama(target_width), llama(draft_width, seed=2)
    for gamma in (1, 4):
        assert greedy(target, draft, Fixed(gamma)).tokens == own(target)


@pytest.mark.parametrize(("target_width", "draft_width"), [(3, 5), (5, 3)])
def test_texts_have_the_law_of_the_target_over_vocabularies_of_two_widths(
    target_width: int, draft_width: int
) -> None:
    def cyclic(width: int, step: int) -> list[list[float]]:
        weights = [1.0 + (step * token) % width for token in range(width)]
        mass = [weight / sum(weights) for weight in weights]
        return [mass[shift:] + mass[:shift] for shift in range(width)]

    p, q = cyclic(target_width, 2), cyclic(draft_width, 1)
    target = TabularModel(lambda text: p[text[-1]], target_width, "target")
    draft = TabularModel(lambda text: q[text[-1]], draft_width, "draft")
    counts = Counter(
        speculate_models(target, draft, [0], Sampling(), Fixed(2), Stopping(3), seed=seed).tokens
        for seed in range(800)
    )
    require_law(counts, own_law(lambda text: p[text[-1]], [0], new_tokens=3))


def test_a_narrower_draft_gives_unknown_tokens_no_probability_and_reads_them_as_its_last() -> None:
    model = FittedModel(TabularModel(lambda text: [0.5, 0.25, 0.25], 3), 5)
    model.start([1, 2])
    logits = model.extend(torch.tensor([4]))
    assert logits.softmax(dim=-1).tolist() == [[0.5, 0.25, 0.25, 0.0, 0.0]]
    assert model.model._text == [1, 2]  # type: ignore[attr-defined]


def test_a_narrower_draft_reads_prompt_and_text_alike() -> None:
    draft = llama()
    model = FittedModel(draft, draft.vocabulary + 10)
    unknown = draft.vocabulary + 9
    assert model.start([1, unknown, 2]) == [1, unknown, 2]
    read = model.extend(torch.tensor([2]))[:, : draft.vocabulary]
    draft.start([1, draft.vocabulary - 1, 2])
    torch.testing.assert_close(read, draft.extend(torch.tensor([2])))


def test_a_wider_draft_cannot_draft_tokens_unknown_to_the_target() -> None:
    draft = TabularModel(lambda text: [0.4, 0.2, 0.2, 0.2], 4)
    logits = fitted(draft, 3).extend(torch.tensor([0]))
    assert logits.softmax(dim=-1)[0].tolist() == pytest.approx([0.5, 0.25, 0.25])
    assert fitted(draft, 4) is draft


@pytest.mark.parametrize("target_dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_float32_draft_of_a_target_in_another_dtype_carries_the_laws_it_drew_from(
    target_dtype: torch.dtype,
) -> None:
    target, draft = llama(dtype=target_dtype), llama(seed=2)
    sampling = Sampling(0.7, top_k=20)
    drafter = ModelDrafter(draft, sampling, target.vocabulary)
    drafter.start(PROMPT, PROMPT)
    drafted = drafter.propose(PROMPT, 5, Fixed(5), torch.Generator().manual_seed(0))
    text = draft.start(PROMPT)
    [q] = text_laws(draft, text, drafted.tokens.tolist(), [sampling])
    assert isinstance(drafted.q, Dense)
    assert drafted.q.probabilities.dtype == torch.float32
    torch.testing.assert_close(drafted.q.dense(40), q.dense(40), atol=1e-5, rtol=1e-4)
    assert (drafted.q.of(drafted.tokens) > 0).all()


def test_laws_of_half_precision_logits_are_float32() -> None:
    target = llama(dtype=torch.bfloat16)
    logits = target.extend(torch.tensor([1, 2]))
    assert logits.dtype == torch.bfloat16
    law = Sampling().laws(logits, [1, 2])
    torch.testing.assert_close(law.dense(40), logits.float().softmax(dim=-1))


def test_a_target_in_bfloat16_differs_from_its_own_text_only_where_logits_nearly_tie() -> None:
    target, draft = llama(dtype=torch.bfloat16), llama()
    generation = greedy(target, draft, Fixed(4))
    text = target.start(PROMPT)
    logits = target.extend(torch.tensor([text[-1], *generation.tokens[:-1]])).float()
    chosen = logits.gather(1, torch.tensor(generation.tokens)[:, None])[:, 0]
    # bfloat16 keeps 8 bits: two units in the last place of the largest logit.
    assert (logits.amax(dim=-1) - chosen <= 2**-6 * logits.abs().amax()).all()
    assert generation.accepted > 0


def short_draft() -> CausalModel:
    """Returns a draft of 16 positions."""
    torch.manual_seed(5)
    sizes = {"vocab_size": 40, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 16}
    return CausalModel(GPT2LMHeadModel(GPT2Config(**sizes)), "short")


def test_beyond_the_drafts_positions_the_target_goes_on_alone() -> None:
    target = llama()
    generation = greedy(target, short_draft(), Fixed(4))
    assert generation.tokens == own(target)
    reached = len(PROMPT)
    for block in generation.blocks:
        # The last drafted token need not be fed, so a full cache still drafts one.
        assert len(block.drafted) == max(min(block.gamma, 16 - reached + 1), 0)
        reached += len(block.tokens)


def test_a_prompt_or_a_text_to_score_beyond_the_drafts_positions_is_refused() -> None:
    drafter = ModelDrafter(short_draft(), Sampling(), 40)
    p, message = Dense(torch.full((14, 40), 1 / 40)), "must fit the 16 positions of short, got 17"
    with pytest.raises(ValueError, match=message):
        drafter.start([1] * 17, [1] * 17)
    drafter.start([1] * 4, [1] * 4)
    with pytest.raises(ValueError, match=message):
        drafter.score(Stretch([1] * 4, [2] * 14, p), ScoreOptions([Sampling()], (), 4))


CPU = torch.device("cpu")
LAW = [0.55, 0.3, 0.1, 0.05]


class Never(Policy):
    """Never drafts a second token."""

    name = "never"

    def gamma(self, blocks: object) -> int:
        return 5

    def goes_on(self, token: torch.Tensor, q: Laws) -> bool:
        return False


def test_proposals_are_uniform_and_say_so() -> None:
    drafter = RandomDrafter(4, CPU)
    generator = torch.Generator().manual_seed(0)
    draft = drafter.propose([1], 4000, Fixed(4000), generator)
    torch.testing.assert_close(draft.q.dense(4), torch.full((4000, 4), 0.25))
    require_law(Counter(draft.tokens.tolist()), dict.fromkeys(range(4), 0.25))


def test_a_policy_can_stop_a_random_draft() -> None:
    draft = RandomDrafter(4, CPU).propose([1], 5, Never(), torch.Generator())
    assert len(draft.tokens) == 1
    assert isinstance(draft.q, Dense)
    nothing = RandomDrafter(4, CPU).propose([1], 0, Fixed(0), torch.Generator()).tokens
    assert (nothing.shape, nothing.dtype) == ((0,), torch.int64)


def test_scores_are_the_overlap_with_the_uniform_law() -> None:
    p = Dense(torch.tensor([LAW, LAW], dtype=torch.float64))
    drafter = RandomDrafter(4, CPU)
    samplings = [Sampling(), Sampling(0.0)]
    scores, greedy = drafter.score(Stretch([0], [0, 3], p), ScoreOptions(samplings, [0.5], 4))
    overlap = 0.25 + 0.25 + 0.1 + 0.05
    assert scores.beta.tolist() == pytest.approx([overlap, overlap])
    assert scores.acceptance.tolist() == pytest.approx([0.25 / 0.55, 1.0])
    assert scores.lenient_beta.flatten().tolist() == pytest.approx([0.25 + 0.25 + 0.2 + 0.1] * 2)
    assert greedy is scores  # it has nothing to set
