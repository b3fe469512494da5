"""Models with recurrent layers: rolled back by states that are brought back, and lossless so."""

from typing import Any

import pytest
import torch

from reference.drafters.model_drafter import ModelDrafter, RandomDrafter
from reference.laws import Sampling
from reference.models.text_tree import require_branching
from reference.policies import Fixed
from reference.records import Stopping
from tests.reference.decoding import alone, speculate
from tests.reference.enumeration import STRICT_ACCEPTANCE, own_law, require_equal, walk_choices
from tests.reference.recurrent_models import FAMILIES, PROMPT, VOCABULARY, model, near

GREEDY = Sampling(0.0)


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_ids_are_those_of_generate_whatever_is_rolled_back(family: str) -> None:
    target = model(family)
    ids = torch.tensor([PROMPT])
    expected = target.module.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=14
    )
    stopping = Stopping(14)
    assert list(alone(target, PROMPT, GREEDY, stopping).tokens) == expected[0, 7:].tolist()
    before = target.read_again
    for drafter in (
        ModelDrafter(near(family), GREEDY, VOCABULARY),
        RandomDrafter(VOCABULARY, target.device),
    ):
        found = speculate(target, drafter, PROMPT, GREEDY, Fixed(3), stopping)
        assert list(found.tokens) == expected[0, 7:].tolist()
    rejected = [block for block in found.blocks if block.accepted < len(block.drafted)]
    assert target.read_again - before >= len(rejected) > 5


@pytest.mark.parametrize("family", ["qwen3_5_text", "lfm2"])
def test_a_rollback_leaves_the_state_of_reading_the_text(family: str) -> None:
    target = model(family)
    tokens = torch.tensor([11, 4, 17, 2, 30])
    target.start(PROMPT)
    first = target.extend(tokens)
    for length in (9, 8, 6, 2):
        # To a length of the block, to where it was rolled back to, to its beginning, and before.
        target.rollback(length)
        assert target.length == length
        again = target.extend(torch.tensor([*PROMPT[:6], *tokens.tolist()])[length:])
        torch.testing.assert_close(again[-2:], first[-2:], rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=r"length must lie in \[0, 11\], got 12"):
        target.rollback(12)


def test_a_rejection_reads_the_accepted_tokens_and_the_last_one_again() -> None:
    target = model("lfm2")
    text = target.start(PROMPT)
    before = target.read_again
    target.extend(torch.tensor([text[-1], 3, 4, 5]))
    target.rollback(len(text) + 2)
    assert target.read_again - before == 3
    target.extend(torch.tensor([9, 3, 4, 5]))
    target.rollback(target.length)
    assert target.read_again - before == 3


def test_law_of_texts_of_a_model_with_recurrent_layers_is_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target, draft = (model("lfm2", vocabulary=2, seed=seed) for seed in (1, 2))

    def table(text: Any) -> list[float]:
        with torch.inference_mode():
            logits = target.module(input_ids=torch.tensor([list(text)]), use_cache=False).logits
        law: list[float] = logits[0, -1].softmax(-1).tolist()
        return law

    def run() -> tuple[int, ...]:
        drafter = ModelDrafter(draft, Sampling(), 2)
        return speculate(target, drafter, (0, 1), Sampling(), Fixed(2), Stopping(3)).tokens

    law = walk_choices(monkeypatch, STRICT_ACCEPTANCE).law(run)
    require_equal(law, own_law(table, (0, 1), new_tokens=3), tolerance=1e-9)


def test_settings_that_recurrent_layers_lack_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"attention mask, got lfm2 \(lfm2\) with recurrent"):
        require_branching(model("lfm2"))
    with pytest.raises(ValueError, match=r"^jamba \(jamba\) cannot be decoded spec"):
        model("jamba")
