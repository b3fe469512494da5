"""Prompts that do not fit are found before the first run; a long-RoPE text keeps to one side."""

import pytest
import torch
from transformers import Phi3Config, Phi3ForCausalLM

from estimator.timing.arms import require_positions
from estimator.timing.batched import decode_batch
from ngram.drafters import PromptLookupDrafter
from reference.drafter import score_text
from reference.drafters.model_drafter import HierarchicalDrafter, ModelDrafter, draft_model
from reference.laws import Sampling
from reference.models.architectures import CausalModel, transformers_module
from reference.models.cached_model import rope_switch_length
from reference.models.model import text_limit
from reference.policies import Fixed
from reference.records import Stopping
from reference.scoring import ScoreOptions
from reference.speculative import Subject, plain_session, speculative_session
from tests.estimator.pairs import tiny_llama, tiny_pair

TURN = 16
GREEDY = Sampling(0.0)
SHORT, LONG = [3, 7, 11, 2], [3, 7, 11, 2, 9] * 4  # 20 ids, beyond the turn


def tiny(name: str = "phi", noise: float = 0.0) -> CausalModel:
    """Returns a model whose factors turn after 16 positions, of 64."""
    rope = {
        "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0] * 4,
        "long_factor": [6.0] * 4, "original_max_position_embeddings": TURN,
    }  # fmt: skip
    config = Phi3Config(
        vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64,
        original_max_position_embeddings=TURN, rope_parameters=rope, pad_token_id=0,
        bos_token_id=None, eos_token_id=None, tie_word_embeddings=False,
    )  # fmt: skip
    torch.manual_seed(0)
    module = Phi3ForCausalLM(config)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() > 1:
                parameter.copy_(0.5 * torch.randn_like(parameter))
                parameter.add_(noise * torch.randn_like(parameter))
    return CausalModel(module, name)


def greedy(target: CausalModel, prompt: list[int], tokens: int) -> tuple[int, ...]:
    """Returns what transformers generates."""
    ids = torch.tensor([prompt])
    output = target.module.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=tokens
    )
    return tuple(output[0, len(prompt) :].tolist())


@pytest.mark.parametrize(("prompt", "tokens"), [(SHORT, TURN - len(SHORT)), (LONG, 30)])
def test_a_text_on_one_side_is_that_of_generate(prompt: list[int], tokens: int) -> None:
    target = tiny()
    expected = greedy(target, prompt, tokens)
    assert len(set(expected)) > 3
    drafter = ModelDrafter(tiny("draft", 0.05), GREEDY, target.vocabulary)
    subject = Subject(target, drafter, GREEDY, Stopping(tokens))
    generation = speculative_session(subject, prompt, Fixed(3), torch.Generator()).finished()
    assert generation.tokens == expected
    assert 0 < generation.accepted < generation.drafted


def test_passes_that_cross_differ_from_steps() -> None:
    """Why such texts are refused: the same tokens, in one pass and in two."""
    target = tiny()
    tokens = torch.tensor([5, 9, 4, 8])
    target.start(LONG[: TURN - 1])
    whole = target.extend(tokens).softmax(dim=-1)
    target.rollback(TURN - 2)
    steps = torch.cat([target.extend(token) for token in tokens.split(1)]).softmax(dim=-1)
    assert (whole - steps).abs().sum(dim=-1).max() > 0.1


@pytest.mark.parametrize("prompt", [SHORT, LONG[: TURN + 1]])
def test_a_text_that_would_cross_is_refused_before_any_pass(prompt: list[int]) -> None:
    target = tiny()
    new = TURN - len(SHORT) + 1
    with pytest.raises(
        ValueError,
        match=rf"the 16 positions up to which phi keeps its short rotary factors, or begin beyond "
        rf"them, got {len(prompt)} \+ {new} tokens",
    ):
        plain_session(
            target, prompt, sampling=GREEDY, stopping=Stopping(new), generator=torch.Generator()
        ).finished()
    assert target.forward_seconds == 0


def test_the_first_text_beyond_needs_one_id_more_than_the_turn_fed_at_once() -> None:
    limits = {given: text_limit(tiny(), given) for given in (1, TURN, TURN + 1, TURN + 2)}
    assert limits == {1: TURN, TURN: TURN, TURN + 1: TURN, TURN + 2: 64}


@pytest.mark.parametrize("crosses", ["target", "draft"])
def test_a_text_to_score_that_crosses_is_refused(crosses: str) -> None:
    pair = {role: tiny(role) for role in ("target", "draft")}
    for role in pair.keys() - {crosses}:
        pair[role].rope_switch_length = None
    with pytest.raises(
        ValueError, match=f"a text to score must fit the 16 positions up to which {crosses} "
    ):
        score_text(
            pair["target"],
            ModelDrafter(pair["draft"], GREEDY, 40),
            SHORT,
            [5] * TURN,
            ScoreOptions([GREEDY], (), 2),
            sampling=GREEDY,
        )


def test_a_draft_stops_drafting_at_its_turn() -> None:
    drafter = ModelDrafter(tiny("draft"), GREEDY, 40)
    drafter.start(SHORT, SHORT)
    text = [*SHORT, *[5] * 10]
    assert drafter.room(text) == TURN - len(text) + 1
    drafter.start(LONG, LONG)
    assert drafter.room(LONG) == 64 - len(LONG) + 1


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        (True, r"phi keeps its short rotary factors.*got 4 \+ 20 tokens"),
        (False, "up to which the draft small keeps its short"),
    ],
)
def test_every_prompt_is_checked_for_target_and_draft(switches: bool, message: str) -> None:
    target = tiny()
    pair = Subject(target, ModelDrafter(tiny("small"), GREEDY, 40), GREEDY, Stopping(20))
    if not switches:
        target.rope_switch_length = None
    require_positions(pair, [LONG])
    with pytest.raises(ValueError, match=message):
        require_positions(pair, [LONG, SHORT])


def test_a_batch_of_texts_on_both_sides_is_refused() -> None:
    def together(prompts: list[list[int]]) -> list[tuple[int, ...]]:
        return decode_batch(
            tiny(),
            prompts,
            sampling=GREEDY,
            stopping=Stopping(8),
            generators=[torch.Generator() for _ in prompts],
        )

    assert together([LONG, [4, *LONG]]) == [greedy(tiny(), text, 8) for text in (LONG, [4, *LONG])]
    with pytest.raises(ValueError, match="must all begin before or all beyond the 16 positions"):
        together([SHORT, LONG])


def test_factors_by_layer_type_turn_at_the_first_of_them() -> None:
    config = tiny().module.config
    rope = dict(config.rope_parameters)
    config.rope_parameters = {
        "full_attention": rope | {"original_max_position_embeddings": 40},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    }
    assert rope_switch_length(config) == 40
    config.rope_parameters = {"rope_type": "default", "rope_theta": 1e4}
    assert rope_switch_length(config) is None


def subject(new_tokens: int, *, draft_positions: int = 128) -> Subject:
    target, drafter = tiny_pair(GREEDY)
    drafter.draft.max_length = draft_positions
    return Subject(target, drafter, GREEDY, Stopping(new_tokens))


def test_prompts_that_fit_are_accepted() -> None:
    require_positions(subject(100), [[1] * 28, [1]])
    # The last token is never fed, to be scored or otherwise.
    require_positions(subject(11, draft_positions=20), [[1] * 10])


def test_the_longest_prompt_decides() -> None:
    with pytest.raises(ValueError, match=r"fit the 128 positions of target, got 29 \+ 100 tokens"):
        require_positions(subject(100), [[1], [1] * 29, [1, 2]])


def test_the_draft_must_have_room_to_score() -> None:
    with pytest.raises(ValueError, match=r"20 positions of the draft draft, got 10 \+ 12 tokens"):
        require_positions(subject(12, draft_positions=20), [[1] * 10])


def test_only_models_are_drafted_with_by_models() -> None:
    target = tiny_llama(seed=0)
    lookup = PromptLookupDrafter(device=target.device)
    model_drafter = ModelDrafter(target, GREEDY, 50)
    assert draft_model(lookup) is None
    for drafter in (model_drafter, HierarchicalDrafter(model_drafter, lookup, 2)):
        draft = draft_model(drafter)
        assert draft is not None
        assert draft.vocabulary == 50
        assert transformers_module(draft) is target.module
    assert transformers_module(None) is None
    assert isinstance(target, CausalModel)
