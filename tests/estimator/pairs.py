"""Tiny pairs that the estimator's tests decode with."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from reference.drafters.model_drafter import ModelDrafter
from reference.laws.sampling import Sampling
from reference.models.causal_model import CausalModel

VOCABULARY = 40


def tiny_llama(*, seed: int, noise: float = 0.0, name: str = "tiny") -> CausalModel:
    """Returns a random two-layer model; the same seed with noise gives one that is close to it."""
    torch.manual_seed(seed)
    module = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=128,
            initializer_range=0.3,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += noise * torch.randn_like(parameter)
    return CausalModel(module, name)


def tiny_pair(sampling: Sampling, *, noise: float = 0.03) -> tuple[CausalModel, ModelDrafter]:
    """Returns a target and a drafter of a model close to it."""
    target = tiny_llama(seed=0, name="target")
    draft = tiny_llama(seed=0, noise=noise, name="draft")
    return target, ModelDrafter(draft, sampling, target.vocabulary)


PROMPTS = [[1, 2, 3], [7], [30, 5, 5, 9, 11, 2], [4, 4]]
