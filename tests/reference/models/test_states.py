"""The states that heads draft from are those that the model's own logits came of."""

from pathlib import Path

import pytest
import torch
from test_decoder_architectures import ARCHITECTURES, random_prompt, saved_pair

from reference.models.derived import FittedModel


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_position_gives_the_state_that_its_logits_came_of(
    architecture: str, tmp_path: Path
) -> None:
    model, _ = saved_pair(architecture, tmp_path, 0)
    embedding = model.module.get_output_embeddings()
    capped = getattr(model.module.config, "final_logit_softcapping", None)

    def logits_at(position: int) -> torch.Tensor:
        state = model.state(position)
        assert state is not None
        logits = embedding(state)
        return capped * torch.tanh(logits / capped) if capped else logits

    prompt = random_prompt(7, 1)
    model.start(prompt)
    assert model.state(4) is None
    assert model.state(5) is not None
    assert model.state(6) is None
    with torch.inference_mode():
        first = model.extend(torch.tensor([prompt[-1], 3, 4, 5]))
        for offset in range(4):
            torch.testing.assert_close(logits_at(6 + offset), first[offset])
        model.rollback(8)
        assert model.state(8) is None
        second = model.extend(torch.tensor([9, 8]))
        rows = torch.cat([first[:2], second])
        for offset in range(4):
            torch.testing.assert_close(logits_at(6 + offset), rows[offset])
    model.start(prompt[:1])
    assert [model.state(position) for position in range(-1, 3)] == [None] * 4


def test_a_model_seen_through_another_vocabulary_gives_its_own_states(tmp_path: Path) -> None:
    model, _ = saved_pair("Llama", tmp_path, 0)
    model.start([1, 2, 3])
    state = FittedModel(model, 60).state(1)
    assert state is not None
    assert torch.equal(state, model.state(1))
