"""Blocks drafted by heads: from which state, how long, and how their acceptance is scored."""

import itertools

import pytest
import torch

import reference.drafter
from reference.drafter import score_text
from reference.laws import Sampling
from reference.policies import Confidence, Fixed
from reference.records import Stopping
from reference.rules import Strict
from reference.scoring import ScoreOptions
from studies.blockwise.heads import Heads, HeadsDrafter
from tests.reference.combinations import POLICIES, SETTINGS, TARGET, VOCABULARY
from tests.reference.decoding import alone, speculate
from tests.reference.enumeration import own_law, require_equal, walk_choices
from tests.reference.plain_laws import plain_law
from tests.reference.tabular import TabularModel
from tests.studies.heads_laboratory import heads_drafter, random_embedding, random_heads

GREEDY = Sampling(0.0)


def test_a_head_is_a_network_with_one_hidden_layer_beside_the_state_itself() -> None:
    heads = random_heads(3, heads=4, width=5)
    states = torch.randn(7, 5, dtype=torch.float64)
    read = heads(states)
    assert heads.sizes == {"heads": 4, "width": 5, "hidden": 4}
    assert read.shape == (3, 7, 5)
    for number in range(3):
        hidden = (states @ heads.up[number] + heads.up_bias[number]).clamp(min=0)
        expected = states + hidden @ heads.down[number] + heads.down_bias[number]
        torch.testing.assert_close(read[number], expected)
    torch.testing.assert_close(heads(states, 2), read[:2])


def test_untrained_heads_repeat_the_models_own() -> None:
    states = torch.randn(2, 5)
    assert torch.equal(Heads(heads=3, width=5, hidden=4)(states), states.expand(2, -1, -1))


@pytest.mark.parametrize(
    ("heads", "hidden", "message"),
    [
        (1, 4, "heads must be at least 2, the model's own included, got 1"),
        (3, 0, "hidden must be at least 1, got 0"),
    ],
)
def test_heads_that_are_none_are_refused(heads: int, hidden: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Heads(heads=heads, width=5, hidden=hidden)


def test_greedy_output_is_the_targets_and_calls_are_saved() -> None:
    target = TabularModel(TARGET, VOCABULARY)
    stopping = Stopping(60)
    own = alone(target, (0, 1), GREEDY, stopping)
    calls = []
    for heads in (2, 3, 6):
        drafter = heads_drafter(target, GREEDY, heads=heads)
        generation = speculate(target, drafter, (0, 1), GREEDY, Fixed(8), stopping)
        assert generation.tokens == own.tokens
        # h heads emit at most h tokens a call, the target's own among them.
        assert max(len(block.tokens) for block in generation.blocks) <= heads
        assert all(len(block.drafted) == heads - 1 for block in generation.blocks[:-heads])
        calls.append(generation.target_calls)
    assert min(calls) < 60


def test_a_block_is_drafted_from_the_state_that_gave_the_texts_last_token() -> None:
    target = TabularModel(TARGET, VOCABULARY)
    drafter = heads_drafter(target, GREEDY)
    assert isinstance(drafter, HeadsDrafter)
    text = [0, 1, 2, 2]
    target.start(text)
    state = torch.tensor(TARGET(text[:-1]), dtype=torch.float64)
    expected = drafter.embedding(drafter.heads(state[None]))[:, 0].argmax(dim=-1)
    draft = drafter.propose(text, 8, Fixed(8), torch.Generator())
    assert draft.tokens.tolist() == expected.tolist()
    assert draft.witness is not None
    assert draft.witness.isfinite().tolist() == [True] * 3


def test_a_text_of_one_token_has_no_state_to_draft_from() -> None:
    target = TabularModel(TARGET, VOCABULARY)
    target.start([1])
    drafter = heads_drafter(target, GREEDY)
    assert len(drafter.propose([1], 4, Fixed(4), torch.Generator()).tokens) == 0


def test_a_policy_ends_the_draft_after_an_unsure_token() -> None:
    target = TabularModel(TARGET, VOCABULARY)
    target.start([0, 1])
    drafter = heads_drafter(target, Sampling())
    assert isinstance(drafter, HeadsDrafter)
    logits = drafter.logits([0, 1], 3)
    assert logits is not None
    draft = drafter.propose([0, 1], 3, Confidence(1.0, most=3), torch.Generator().manual_seed(0))
    assert len(draft.tokens) == 1
    torch.testing.assert_close(draft.q.dense(VOCABULARY), logits[:1].softmax(dim=-1))


@torch.no_grad()
@pytest.mark.parametrize("stretch", [1, 2, 5])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_scores_are_the_laws_shared_mass_and_ratios_block_by_block(
    temperature: float, stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longhand: min(1, q_k(x) / p(x)) with q_k of the state before the block's start."""
    sampling = Sampling(temperature)
    target = TabularModel(TARGET, VOCABULARY)
    heads, embedding = random_heads(8, heads=3, width=3), random_embedding(9, 3, 3)
    drafter = HeadsDrafter(target, heads, embedding, sampling, name="heads")
    prompt, generator = [0], torch.Generator().manual_seed(3)
    own = alone(target, prompt, sampling, Stopping(5), generator=generator).tokens
    monkeypatch.setattr(reference.drafter, "ROW_NUMBERS", 3 * stretch)
    options = ScoreOptions([sampling], [1.0], 4)
    [scores] = score_text(target, drafter, prompt, own, options, sampling=sampling)
    torch.testing.assert_close(scores.lenient_beta[:, 0], scores.beta)
    assert scores.drafted is not None
    assert scores.drafted.tolist() == [0, 2, 2, 2, 2]
    whole = [*prompt, *own]
    for start in range(1, 5):
        state = torch.tensor(TARGET(whole[:start]), dtype=torch.float64)
        q = sampling.laws(embedding(heads(state[None]))[:, 0], whole).dense(3).double()
        for offset in range(2):
            place = start + offset
            if place < 5:
                after = torch.tensor(TARGET(whole[: 1 + place]), dtype=torch.float64)
                row = sampling.laws(after.log()[None], whole).dense(3)[0].double()
                ratio = min(1.0, float(q[offset, own[place]] / row[own[place]]))
                assert scores.acceptance[place, offset] == pytest.approx(ratio, abs=1e-12)
                if offset == 0:
                    shared = float(torch.minimum(q[0], row).sum())
                    assert scores.beta[start] == pytest.approx(shared, abs=1e-12)
    assert scores.acceptance[:, 2:].sum() == 0


# Every policy, every setting with some policy, and drafts by another setting than the target's.
CASES = [
    *((policy, "plain", SETTINGS["plain"]) for policy in POLICIES),
    *(
        (policy, setting, SETTINGS[setting])
        for policy, setting in zip(itertools.cycle(["fixed 2", "confidence"]), SETTINGS)
        if setting != "plain"
    ),
    ("fixed 2", "plain", Sampling(0.0)),
    ("fixed 2", "plain", Sampling(1.7, top_k=2)),
]


@pytest.mark.parametrize("prompt", [(0, 1), (2,)])  # after one token there is no state
@pytest.mark.parametrize(("policy", "setting", "drafting"), CASES)
def test_law_of_texts_drafted_by_heads_is_the_targets(
    policy: str,
    setting: str,
    drafting: Sampling,
    prompt: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sampling = SETTINGS[setting]

    def run() -> tuple[int, ...]:
        target = TabularModel(TARGET, VOCABULARY)
        drafter = heads_drafter(target, drafting)
        return speculate(target, drafter, prompt, sampling, POLICIES[policy], Stopping(3)).tokens

    law = walk_choices(monkeypatch, {Strict: lambda p, q: min(1.0, p / q)}).law(run)
    expected = own_law(lambda text: plain_law(TARGET(text), sampling, text), prompt, new_tokens=3)
    require_equal(law, expected, tolerance=1e-12)
