"""Tiny random models of every family with recurrent layers."""

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from reference.models.huggingface import adapter_of
from reference.models.recurrent_model import RecurrentModel
from tests.reference.tiny_models import drawn

VOCABULARY = 40
PROMPT = [5, 9, 7, 3, 22, 31, 8]
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8,
    "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": None, "pad_token_id": 0,
}  # fmt: skip
BOTH = {"layer_types": ["linear_attention", "full_attention"]}
DELTA = BOTH | {
    "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}  # fmt: skip
MAMBA = {
    "mamba_n_heads": 2, "mamba_d_state": 4, "mamba_d_head": 16, "mamba_d_ssm": 32,
    "mamba_chunk_size": 4, "mamba_expand": 2,
}  # fmt: skip
EXPERTS = {
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "num_local_experts": 4,
    "shared_expert_intermediate_size": 8, "n_routed_experts": 4,
}  # fmt: skip
FAMILIES: dict[str, dict[str, Any]] = {
    "qwen3_next": DELTA | EXPERTS,
    "qwen3_5_text": DELTA,
    "qwen3_5_moe_text": DELTA | EXPERTS,
    "granitemoehybrid": BOTH | MAMBA | EXPERTS,
    "lfm2": {"layer_types": ["conv", "full_attention"]},
    "lfm2_moe": EXPERTS | {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "nemotron_h": EXPERTS
    | {
        "layer_types": ["linear_attention", "moe", "full_attention", "mlp"],
        "num_hidden_layers": 4,
        "n_groups": 1,
        "mamba_num_heads": 2,
        "mamba_head_dim": 16,
        "ssm_state_size": 4,
        "chunk_size": 4,
    },
    "falcon_h1": MAMBA,
    "bamba": MAMBA | {"attn_layer_indices": [1]},
    "olmo_hybrid": DELTA,
}
JAMBA = {
    "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 2, "num_experts_per_tok": 1,
}  # fmt: skip


def tiny(family: str, *, seed: int = 0, vocabulary: int = VOCABULARY) -> Any:
    """Returns a random module whose layers do something, in float64 but for experts."""
    plain = AutoConfig.for_model(family)
    wanted = SIZES | FAMILIES.get(family, JAMBA) | {"vocab_size": vocabulary}
    known = {name: value for name, value in wanted.items() if hasattr(plain, name)}
    torch.manual_seed(seed)
    module = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **known))
    if "num_experts_per_tok" not in wanted:
        module = module.double()
    drawn(module, 0.3)
    return module


def model(family: str, **given: Any) -> RecurrentModel:
    module = tiny(family, **given)
    found = adapter_of(module)(module, family)
    assert isinstance(found, RecurrentModel)
    return found


def near(family: str, **given: Any) -> RecurrentModel:
    """Returns one like `model`'s, so that it often drafts what that writes."""
    found = model(family, **given)
    with torch.no_grad():
        for parameter in found.module.parameters():
            parameter.add_(0.05 * parameter.std() * torch.randn_like(parameter))
    return found
