"""Multi-token prediction: read from the target's own files, and lossless."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

from reference.drafters.state_head import StateHeadDrafter
from reference.laws import Sampling
from reference.models.cached_model import CachedModel
from reference.models.huggingface import load_model
from reference.policies import Fixed
from reference.records import Stopping
from reference.state_heads.head import Mtp, causal_mask, load_mtp
from tests.reference import recurrent_models
from tests.reference.decoding import alone, speculate
from tests.reference.tiny_models import drawn

LAYERS, WIDTH, EXPERTS, INNER = 2, 16, 4, 8
PREFIX = f"model.layers.{LAYERS}."
GREEDY = Sampling(0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a target with a layer of multi-token prediction, each expert by itself as on file."""
    torch.manual_seed(0)
    config = DeepseekV3Config(
        vocab_size=50, hidden_size=WIDTH, intermediate_size=24, moe_intermediate_size=INNER,
        num_hidden_layers=LAYERS, num_attention_heads=2, num_key_value_heads=2,
        n_routed_experts=EXPERTS, num_experts_per_tok=2, n_group=1, topk_group=1,
        n_shared_experts=1, first_k_dense_replace=1, kv_lora_rank=8, q_lora_rank=8,
        qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=8, max_position_embeddings=64,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    module = DeepseekV3ForCausalLM(config)
    drawn(module, 0.4)
    module.save_pretrained(tmp_path)
    own = {key: 0.4 * torch.randn_like(each) for key, each in layer_like(module).items()}
    for norm in ("enorm", "hnorm", "shared_head.norm"):
        own[f"{norm}.weight"] = 1 + 0.2 * torch.randn(WIDTH)
    own["eh_proj.weight"] = 0.3 * torch.randn(WIDTH, 2 * WIDTH)
    own["embed_tokens.weight"] = module.get_input_embeddings().weight.detach().clone()
    save_file({PREFIX + key: each for key, each in own.items()}, tmp_path / "mtp.safetensors")
    return tmp_path


def layer_like(module: DeepseekV3ForCausalLM) -> dict[str, Tensor]:
    """Returns the tensors of the target's last layer by their names on file."""
    found = dict(module.model.layers[-1].state_dict())
    gate_up, down = found.pop("mlp.experts.gate_up_proj"), found.pop("mlp.experts.down_proj")
    for number in range(EXPERTS):
        name = f"mlp.experts.{number}"
        found[f"{name}.gate_proj.weight"] = gate_up[number, :INNER].clone()
        found[f"{name}.up_proj.weight"] = gate_up[number, INNER:].clone()
        found[f"{name}.down_proj.weight"] = down[number].clone()
    return found


def loaded(folder: Path) -> CachedModel:
    target = load_model(str(folder), device=torch.device("cpu"))
    target.name = "target"
    return target


def rms(x: Tensor, weight: Tensor) -> Tensor:
    return weight * x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()


@torch.no_grad()
def test_states_are_the_layer_of_joined_embedding_and_state(folder: Path) -> None:
    target = loaded(folder)
    head = load_mtp(folder, target.module, name="target")
    w = {k.removeprefix(PREFIX): v for k, v in load_file(folder / "mtp.safetensors").items()}
    for number in range(EXPERTS):
        both = [w[f"mlp.experts.{number}.{kind}_proj.weight"] for kind in ("gate", "up")]
        assert torch.equal(head.layer.mlp.experts.gate_up_proj[number], torch.cat(both))
    ids, states = torch.tensor([3, 7, 7, 1]), torch.randn(4, WIDTH)
    joined = torch.cat(
        [rms(target.module.get_input_embeddings()(ids), w["enorm.weight"]),
         rms(states, w["hnorm.weight"])], dim=-1,
    ) @ w["eh_proj.weight"].T  # fmt: skip
    positions = torch.arange(4)[None]
    mask = causal_mask(4, 0, states)
    rotary = target.module.model.rotary_emb(joined[None], positions)
    expected = head.layer(joined[None], attention_mask=mask, position_embeddings=rotary)
    made = head(head.embed(ids[None]), states[None], positions, mask, head.empty_cache())
    torch.testing.assert_close(made, expected)
    outward = rms(made, w["shared_head.norm.weight"])
    torch.testing.assert_close(head.logits(made), target.module.lm_head(outward))


def test_greedy_ids_are_the_targets_own(folder: Path) -> None:
    target = loaded(folder)
    head = load_mtp(folder, target.module, name="target")
    drafter = StateHeadDrafter(target, head, GREEDY, name="mtp")
    prompt = [4, 11, 30, 2, 8]
    own = alone(target, prompt, GREEDY, Stopping(16)).tokens
    for gamma in (1, 3):
        found = speculate(target, drafter, prompt, GREEDY, Fixed(gamma), Stopping(16))
        assert found.tokens == own
        assert all(len(block.drafted) == gamma for block in found.blocks[:-gamma])


def test_missing_and_extra_tensors_are_refused_by_name(folder: Path) -> None:
    target = loaded(folder)
    path = folder / "mtp.safetensors"
    tensors = load_file(path)
    save_file(tensors | {"model.layers.3.enorm.weight": torch.ones(WIDTH)}, path)
    with pytest.raises(ValueError, match="target must have one layer of multi-token prediction"):
        load_mtp(folder, target.module, name="target")
    del tensors[PREFIX + "hnorm.weight"]
    save_file(tensors, path)
    with pytest.raises(ValueError, match=r"all of its tensors, got none for hnorm\.weight$"):
        load_mtp(folder, target.module, name="target")
    path.unlink()
    with pytest.raises(ValueError, match=r"got none for model\.layers\.2 in"):
        load_mtp(folder, target.module, name="target")


@pytest.mark.parametrize("family", ["granitemoehybrid", "lfm2", "falcon_h1", "bamba", "nemotron_h"])
def test_a_target_without_the_parts_of_a_layer_is_refused_by_name(family: str) -> None:
    target = recurrent_models.tiny(family)
    with pytest.raises(ValueError, match=rf"^multi-token prediction .*, got some \({family}\)"):
        Mtp(target, name="some")
