"""Tiny random EAGLE-3 heads, written as others write them, and a target."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from reference.models.architectures import CausalModel
from tests.reference.tiny_models import drawn, llama

WIDTH, FEEDFORWARD, HEADS, CACHED, HEAD_WIDTH = 16, 24, 4, 2, 8


def random_tensors(
    *,
    vocabulary: int,
    drafted: int,
    taps: int = 3,
    width: int = WIDTH,
    layer: str = "midlayer",
    embedding: bool = False,
    seed: int = 0,
) -> dict[str, Tensor]:
    """Returns the tensors of a head, its ids every other one of the target's as far as they go."""
    generator = torch.Generator().manual_seed(seed)

    def matrix(*shape: int) -> Tensor:
        return 0.5 * torch.randn(*shape, generator=generator)

    def norm() -> Tensor:
        return 1 + 0.3 * torch.randn(width, generator=generator)

    tensors = {
        "fc.weight": matrix(width, taps * width),
        f"{layer}.input_layernorm.weight": norm(),
        f"{layer}.hidden_norm.weight": norm(),
        f"{layer}.post_attention_layernorm.weight": norm(),
        f"{layer}.self_attn.q_proj.weight": matrix(HEADS * HEAD_WIDTH, 2 * width),
        f"{layer}.self_attn.k_proj.weight": matrix(CACHED * HEAD_WIDTH, 2 * width),
        f"{layer}.self_attn.v_proj.weight": matrix(CACHED * HEAD_WIDTH, 2 * width),
        f"{layer}.self_attn.o_proj.weight": matrix(width, HEADS * HEAD_WIDTH),
        f"{layer}.mlp.gate_proj.weight": matrix(FEEDFORWARD, width),
        f"{layer}.mlp.up_proj.weight": matrix(FEEDFORWARD, width),
        f"{layer}.mlp.down_proj.weight": matrix(width, FEEDFORWARD),
        "norm.weight": norm(),
        "lm_head.weight": matrix(drafted, width),
    }
    if embedding:
        tensors["embed_tokens.weight"] = matrix(vocabulary, width)
    if drafted < vocabulary:
        step = min(2, vocabulary // drafted)
        ids = torch.arange(drafted) * step
        tensors["d2t"] = ids - torch.arange(drafted)
        tensors["t2d"] = torch.zeros(vocabulary, dtype=torch.bool).scatter(0, ids, True)
    return tensors


def sizes(vocabulary: int, *, width: int = WIDTH) -> dict[str, Any]:
    return {
        "hidden_size": width, "intermediate_size": FEEDFORWARD, "num_attention_heads": HEADS,
        "num_key_value_heads": CACHED, "head_dim": HEAD_WIDTH, "num_hidden_layers": 1,
        "rms_norm_eps": 1e-5, "rope_theta": 5000.0, "vocab_size": vocabulary,
        "max_position_embeddings": 128,
    }  # fmt: skip


def safeailabs(vocabulary: int, drafted: int, **others: Any) -> dict[str, Any]:
    """Returns config.json as SafeAILab's heads have it."""
    named = {"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama"}
    return named | sizes(vocabulary) | {"draft_vocab_size": drafted} | others


def speculators(vocabulary: int, drafted: int, **others: Any) -> dict[str, Any]:
    """Returns config.json as speculators writes it."""
    return {
        "architectures": ["Eagle3Speculator"],
        "speculators_model_type": "eagle3",
        "draft_vocab_size": drafted,
        "transformer_layer_config": {"model_type": "llama"} | sizes(vocabulary),
        **others,
    }


def written(folder: Path, config: dict[str, Any], tensors: dict[str, Tensor]) -> Path:
    """Returns the folder, with a head in it."""
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file(tensors, folder / "model.safetensors")
    return folder


def tiny_target(vocabulary: int) -> CausalModel:
    """Returns a random model in float64, whose laws are far from one-hot and from uniform."""
    module = drawn(llama(3, vocab_size=vocabulary).double(), 0.4)
    return CausalModel(module, "tiny")
