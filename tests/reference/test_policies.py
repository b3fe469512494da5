"""Gamma policies: when each stops drafting, and that a token once drawn is submitted."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM
from transformers.generation.candidate_generator import AssistedCandidateGenerator

from reference.drafter import Draft
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Dense, Laws, OneHot, Sampling
from reference.models.architectures import CausalModel
from reference.policies import Adaptive, Confidence, Fixed, Heuristic, Policy, Product
from reference.records import Block, Generation, Stopping
from reference.rules import Strict
from studies.bild.decoder import Fallback
from tests.reference.decoding import speculate, speculate_tables
from tests.reference.enumeration import require_equal, walk_choices
from tests.reference.plain_laws import random_table
from tests.reference.tabular import Table, TabularModel
from tests.reference.tiny_models import llama as tiny_llama
from tests.reference.tiny_models import with_noise

VOCABULARY = 3


def block(drafted: int, accepted: int, *, gamma: int | None = None) -> Block:
    """Returns a block of so many drafted and accepted tokens."""
    gamma, tokens = drafted if gamma is None else gamma, (0,) * (accepted + 1)
    return Block(gamma, (0,) * drafted, tokens, accepted, 0.0, 0.0, 0.0, ending=None)


def run(
    policy: Policy, *, target: Table, draft: Table, sampling: Sampling, new_tokens: int
) -> Generation:
    generator = torch.Generator().manual_seed(0)
    return speculate_tables(target, draft, sampling, policy, new_tokens, generator=generator)


def counting(text: Sequence[int]) -> list[float]:
    """Counts 0, 1, 2, 0, 1, ... and is unsure after 1."""
    return {0: [0.0, 1.0, 0.0], 1: [0.25, 0.25, 0.5], 2: [1.0, 0.0, 0.0]}[text[-1]]


def test_confidence_keeps_the_unsure_token_then_stops() -> None:
    policy, greedy = Confidence(0.6, most=5), Sampling(0.0)
    generation = run(policy, target=counting, draft=counting, sampling=greedy, new_tokens=12)
    assert generation.tokens == (1, 2, 0) * 4
    assert [one.drafted for one in generation.blocks] == [(1, 2)] * 4


@pytest.mark.parametrize(
    ("q", "probability"),
    [
        (Dense(torch.tensor([[0.0, 0.75, 0.25]])), 0.75),
        (OneHot(torch.tensor([1]), torch.tensor([[0.0, 0.75, 0.25]]).log()), 0.75),
        (OneHot(torch.tensor([1]), torch.tensor([[0.0, 0.75, 0.25]]).log().bfloat16()), 0.75),
        (OneHot(torch.tensor([1])), 1.0),
    ],
    ids=["sampled", "greedy", "greedy in half precision", "no model"],
)
def test_confidence_judges_by_the_drafts_own_probability(q: Laws, probability: float) -> None:
    token = torch.tensor([1])
    # At the threshold itself it goes on, as transformers does, which stops below it.
    for threshold in (0.0, 0.74, 0.75 if isinstance(q, Dense) else 0.74):
        assert Confidence(threshold, most=1).goes_on(token, q)
    for threshold in (0.76, 1.0):
        assert Confidence(threshold, most=1).goes_on(token, q) is (probability == 1)


def test_product_judges_by_all_probabilities_of_the_block() -> None:
    token, half = torch.tensor([1]), Dense(torch.tensor([[0.0, 0.5, 0.5]]))
    policy = Product(0.25, most=4)
    for _ in range(2):  # each block begins with 1
        assert policy.gamma([]) == 4
        # 1, 1/2, 1/4, 1/8: at the threshold itself it goes on.
        judged = [policy.goes_on(token, q) for q in (OneHot(token), half, half, half)]
        assert judged == [True, True, True, False]


def test_heuristic_grows_by_two_and_shrinks_by_one() -> None:
    policy, blocks = Heuristic(3), [block(3, 3), block(5, 5), block(7, 6)]
    assert [policy.gamma(blocks[:count]) for count in range(4)] == [3, 5, 7, 6]
    assert policy.gamma([block(1, 0)]) == 1
    assert policy.gamma([block(0, 0, gamma=4)]) == 4
    for most, gamma in ((4, 4), (5, 5), (6, 5)):
        assert Heuristic(3, most=most).gamma([block(3, 3)]) == gamma


def test_heuristic_follows_transformers_schedule() -> None:
    """Its own words: a count that grows by 2 if all matched, else shrinks by 1, but not below 1."""
    table = random_table(1, VOCABULARY)
    draft = random_table(2, VOCABULARY)
    generation = run(Heuristic(2), target=table, draft=draft, sampling=Sampling(), new_tokens=200)
    gamma, room = 2, 200
    for one in generation.blocks:
        assert one.gamma == min(gamma, room - 1)
        room -= len(one.tokens)
        gamma = gamma + 2 if one.accepted == len(one.drafted) else max(1, gamma - 1)
    assert len({one.gamma for one in generation.blocks}) > 2


def test_adaptive_estimates_alpha_from_accepted_and_rejected_tokens() -> None:
    policy = Adaptive(lambda _: 4, prior=0.5, prior_tokens=2.0, window=3)
    assert policy.alpha([]) == 0.5
    assert policy.alpha([block(4, 4)]) == (1 + 4) / (2 + 4)
    assert policy.alpha([block(4, 2)]) == (1 + 2) / (2 + 3)
    # The first block has left the window; one that drafted nothing says nothing.
    blocks = [block(9, 9), block(4, 0), block(0, 0), block(4, 3)]
    assert policy.alpha(blocks) == (1 + 3) / (2 + 5)


def test_adaptive_estimate_tends_to_alpha() -> None:
    """Within 5 standard errors, some 1,100 tokens being judged."""
    p, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
    generation = run(
        Fixed(4), target=lambda _: p, draft=lambda _: q, sampling=Sampling(), new_tokens=1200
    )
    alpha = Adaptive(lambda _: 4, window=10_000).alpha(generation.blocks)
    assert abs(alpha - sum(map(min, p, q))) < 5 * (0.6 * 0.4 / 1100) ** 0.5


def turning(text: Sequence[int]) -> list[float]:
    """Repeats token 0 up to the 60th token, then token 1."""
    return [1.0, 0.0, 0.0] if len(text) < 60 else [0.0, 1.0, 0.0]


def test_adaptive_plans_again_as_the_text_goes() -> None:
    policy = Adaptive(lambda alpha: round(8 * alpha), prior=0.6, prior_tokens=4.0, window=8)
    zeros = [1.0, 0.0, 0.0]
    generation = run(
        policy, target=turning, draft=lambda _: zeros, sampling=Sampling(), new_tokens=90
    )
    gammas = [one.gamma for one in generation.blocks]
    turn = next(index for index, one in enumerate(generation.blocks) if 1 in one.tokens)
    assert gammas[0] == round(8 * 0.6)
    assert gammas[turn] == 8
    assert gammas[turn + 12] == 2


def test_adaptive_comes_back_from_a_plan_not_to_draft() -> None:
    policy = Adaptive(lambda alpha: 4 * (alpha > 0.3), prior=0.6, prior_tokens=4.0, window=8)
    ones = [0.0, 1.0, 0.0]
    generation = run(
        policy, target=turning, draft=lambda _: ones, sampling=Sampling(), new_tokens=120
    )
    gammas = [one.gamma for one in generation.blocks]
    assert gammas[:5] == [4, 4, 4, 4, 0]
    assert generation.accepted > 40


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fixed(-1), "gamma must be at least 0, got -1"),
        (lambda: Confidence(-0.1, most=3), r"threshold must lie in \[0, 1\], got -0.1"),
        (lambda: Confidence(1.1, most=3), r"threshold must lie in \[0, 1\], got 1.1"),
        (lambda: Confidence(float("nan"), most=3), r"threshold must lie in \[0, 1\], got nan"),
        (lambda: Confidence(0.4, most=0), "most must be at least 1, got 0"),
        (lambda: Heuristic(0), "start must be at least 1, got 0"),
        (lambda: Heuristic(5, most=4), "most must be at least start, 5, got 4"),
        (lambda: Adaptive(int, prior=1.1), r"prior must lie in \[0, 1\], got 1.1"),
        (lambda: Adaptive(int, prior_tokens=0.0), "prior_tokens must be finite and above 0, got 0"),
        (lambda: Adaptive(int, window=0), "window must be at least 1, got 0"),
        (lambda: Adaptive(int, prior=-0.1), r"prior must lie in \[0, 1\], got -0.1"),
        (lambda: Adaptive(int, prior_tokens=float("inf")), "prior_tokens must be .* got inf"),
        (lambda: Adaptive(int, prior_tokens=float("nan")), "prior_tokens must be .* got nan"),
    ],
)
def test_settings_out_of_range_are_refused(make: Callable[[], Policy], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_policies_have_the_names_in_reports() -> None:
    policies = [Fixed(2), Confidence(0.4, most=8), Product(0.4, most=8), Heuristic(), Adaptive(int)]
    names = ["fixed", "confidence", "product", "heuristic", "adaptive"]
    assert [policy.name for policy in policies] == names


class Dropping:
    """A drafter that draws a token, looks at it and drops it with what would have followed.

    Not lossless: the reason why a policy may stop after a token, but never take one back.
    """

    name = "dropping"
    forward_seconds = 0.0

    def __init__(self, drafter: ModelDrafter) -> None:
        self.drafter = drafter
        self.start = drafter.start

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        draft = self.drafter.propose(text, limit, policy, generator)
        unsure = draft.q.of(draft.tokens) < 0.3
        kept = int((~unsure).long().cumprod(dim=0).sum())
        return Draft(draft.tokens[:kept], draft.q.first(kept))


def test_dropping_a_drawn_token_is_not_lossless(monkeypatch: pytest.MonkeyPatch) -> None:
    """p = (.5, .3, .2), q = (.2, .2, .6), tokens with q < .3 dropped: the law is (.5, .22, .28)."""
    p, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]

    walk = walk_choices(monkeypatch, {Strict: lambda p, q: min(1.0, p / q)})
    draft = ModelDrafter(TabularModel(lambda _: q, VOCABULARY), Sampling(), VOCABULARY)
    target, drafter = TabularModel(lambda _: p, VOCABULARY), Dropping(draft)
    law = walk.law(
        lambda: speculate(target, drafter, [0], Sampling(), Fixed(1), Stopping(2)).tokens[:1]
    )
    require_equal(law, {(0,): 0.5, (1,): 0.22, (2,): 0.28}, tolerance=1e-12)


def llama(seed: int) -> LlamaForCausalLM:
    module = tiny_llama(max_position_embeddings=96, initializer_range=0.5, pad_token_id=0)
    torch.manual_seed(seed)
    with_noise(module, 0.02)
    return module.eval()


@pytest.mark.parametrize(
    ("policy", "settings"),
    [
        (Fixed(4), {"num_assistant_tokens": 4}),
        (Confidence(0.4, most=6),
         {"num_assistant_tokens": 6, "assistant_confidence_threshold": 0.4}),
        (Heuristic(2),
         {"num_assistant_tokens": 2, "num_assistant_tokens_schedule": "heuristic_transient"}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)  # fmt: skip
def test_blocks_draft_as_many_tokens_as_transformers_own_assisted_decoding(
    policy: Policy, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    target, draft = llama(1), llama(2)
    defaults = {"num_assistant_tokens_schedule": "constant", "assistant_confidence_threshold": 0.0}
    for name, value in (defaults | settings).items():
        setattr(draft.generation_config, name, value)
    counted: list[int] = []
    get_candidates = AssistedCandidateGenerator.get_candidates

    def counting_candidates(self: Any, input_ids: torch.Tensor, **options: Any) -> Any:
        candidates, logits = get_candidates(self, input_ids, **options)
        counted.append(candidates.shape[1] - input_ids.shape[1])
        return candidates, logits

    monkeypatch.setattr(AssistedCandidateGenerator, "get_candidates", counting_candidates)
    prompt = [5, 9, 3, 11]
    ids = torch.tensor([prompt])
    output = target.generate(
        ids, attention_mask=torch.ones_like(ids), assistant_model=draft, do_sample=False,
        max_new_tokens=50,
    )  # fmt: skip
    drafter = ModelDrafter(CausalModel(draft, "draft"), Sampling(0.0), 40)
    model = CausalModel(target, "target")
    generation = speculate(model, drafter, prompt, Sampling(0.0), policy, Stopping(50))
    assert generation.tokens == tuple(output[0, len(prompt) :].tolist())
    assert [len(one.drafted) for one in generation.blocks] == counted
    assert len(set(counted[:-1])) > 1 or isinstance(policy, Fixed)


def eightfold(alpha: float) -> int:
    return round(8 * alpha)


@pytest.mark.parametrize(
    ("make", "first"),
    [
        (lambda: Fixed(0), 0),
        (lambda: Confidence(0.0, most=1), 1),
        (lambda: Confidence(1.0, most=7), 7),
        (lambda: Heuristic(1), 1),
        (lambda: Heuristic(3, most=3), 3),
        (lambda: Adaptive(eightfold, prior=0.0), 0),
        (lambda: Adaptive(eightfold, prior=1.0), 8),
        (lambda: Adaptive(eightfold, prior=0.5, prior_tokens=1e-3), 4),
        (lambda: Adaptive(eightfold, prior=0.5, window=1), 4),
    ],
)
def test_the_ends_of_a_range_belong_to_it(make: Callable[[], Policy], first: int) -> None:
    assert make().gamma([]) == first


def test_a_law_just_certain_enough_is_trusted() -> None:
    halves = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
    assert Fallback(0.5).trusts(Dense(halves[:1]))
    assert not Fallback(0.5000001).trusts(Dense(halves[:1]))
    by_entropy = Fallback(0.5, measure="entropy")
    found = [by_entropy.certainty(Dense(row[None])) for row in halves]
    assert found == pytest.approx([0.5, 2**-1.5])
