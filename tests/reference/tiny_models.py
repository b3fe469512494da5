"""Tiny random models whose layers do something."""

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

SIZES: dict[str, Any] = {
    "vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1,
    "num_attention_heads": 2, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip


def llama(seed: int = 0, **sizes: Any) -> LlamaForCausalLM:
    """Returns a random Llama, of SIZES where none are given: one layer."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(**SIZES | sizes)).eval()


def drawn(module: Any, scale: float) -> Any:
    """Returns the module with matrices of that scale: timidly initialised, it repeats one token."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() > 1:
                parameter.copy_(scale * torch.randn_like(parameter))
    return module


def with_noise(module: Any, noise: float) -> Any:
    """Returns the module with normal noise on all of its weights."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += noise * torch.randn_like(parameter)
    return module
