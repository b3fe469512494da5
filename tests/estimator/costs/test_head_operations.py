"""Operations of a head on the target's states: its own weights, and the matrices it borrows."""

from pathlib import Path

import pytest
from eagle3_laboratory import WIDTH, random_tensors, safeailabs, written
from test_decoder_architectures import saved_pair

from estimator.costs.operations import c_hat, operations_per_token
from reference.drafters.state_head import StateHeadDrafter
from reference.laws import Sampling
from reference.state_heads.eagle3_folder import load_eagle3


@pytest.mark.parametrize("drafted", [20, None])
def test_a_head_is_counted_by_what_its_token_meets(drafted: int | None, tmp_path: Path) -> None:
    target, _ = saved_pair("Llama", tmp_path, 0)
    vocabulary = target.vocabulary
    tensors = random_tensors(vocabulary=vocabulary, drafted=drafted or vocabulary)
    if drafted is None:
        del tensors["lm_head.weight"]  # the target's is used
    folder = tmp_path / "head"
    taps = {"eagle_aux_hidden_state_layer_ids": [0, 1, 2]}
    written(folder, safeailabs(vocabulary, drafted or vocabulary, **taps), tensors)
    head = load_eagle3(folder, target.module, name="target")
    met = sum(
        tensor.numel()
        for name, tensor in tensors.items()
        if name not in ("embed_tokens.weight", "d2t", "t2d")
    )
    if drafted is None:
        met += vocabulary * WIDTH
    drafter = StateHeadDrafter(target, head, Sampling(0.0), name="eagle3")
    assert c_hat(target.module, drafter) == 2 * met / operations_per_token(target.module)
