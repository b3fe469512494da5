"""Arithmetic operations per token, for the ratio c_hat of Leviathan et al. 2023, Theorem 10."""

import re
from typing import Any

from torch import nn

from reference.drafter import Drafter
from reference.drafters.model_drafter import draft_model
from reference.drafters.state_head import StateHeadDrafter
from reference.models.architectures import transformers_module

# Weights of all experts in one tensor, or of one expert in a list.
EXPERTS = re.compile(r"(.*\bexperts)\.(.*)")
# Names of the setting for the number of experts that a token is sent to.
CHOSEN = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "top_k_experts")
# Keys and values of the prompt in cross-attention, computed once per text.
ONCE_A_TEXT = re.compile(
    r"\.(?:EncDecAttention|encoder_attn|cross_attention|crossattention\.self)"
    r"\.(?:k|v|k_proj|v_proj|key|value)\."
)


def operations_per_token(module: Any) -> int:
    """Returns the operations of a model per decoded token: twice the number of weights it uses.

    An input embedding is only looked up and does not count; the output embedding counts, even if
    tied. In a mixture of experts only the experts that a token is sent to count, in an
    encoder-decoder only the decoder. Attention over the cache is neglected: it is small at short
    lengths.
    """
    return 2 * round(_weights(module, module.config))


def _weights(module: Any, config: Any) -> float:
    """Returns the mean number of weights that a token uses, including the output matrix."""
    idle = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    if config.is_encoder_decoder:  # only the pass over the prompt uses the encoder
        idle |= {id(parameter) for parameter in module.get_encoder().parameters()}
    met = {id(weight) for weight in module.parameters()} - idle
    output = module.get_output_embeddings()
    elsewhere = output is not None and id(output.weight) not in met
    weights = float(output.weight.numel()) if elsewhere else 0.0
    for name, parameter in module.named_parameters():
        if id(parameter) in met and ONCE_A_TEXT.search(name) is None:
            weights += parameter.numel() * _share_of_tokens(module, config, name, parameter)
    return weights


def _share_of_tokens(module: Any, config: Any, name: str, parameter: Any) -> float:
    """Returns the share of tokens that use a weight: 1, or the share that its expert receives."""
    match, text = EXPERTS.fullmatch(name), config.get_text_config(decoder=True)
    chosen = next((n for c in CHOSEN if (n := getattr(text, c, None)) is not None), None)
    listed = match is not None and match[2].partition(".")[0].isdecimal()
    if match is None or chosen is None or not (parameter.dim() == 3 or listed):
        return 1.0
    experts = parameter if parameter.dim() == 3 else module.get_submodule(match[1])
    return min(1.0, int(chosen) / len(experts))


def c_hat(target_module: Any, drafter: Drafter) -> float:
    """Returns the draft's operations per token divided by the target's (Leviathan et al. 2023).

    The result is 0 for drafts that are not neural networks, such as n-grams. For a head that
    reads the target's states, all weights count for each drafted token, although some are used only
    once per target token.
    """
    whole, draft = operations_per_token(target_module), draft_model(drafter)
    if isinstance(drafter, StateHeadDrafter):
        return 2 * round(_weights(drafter.head, target_module.config)) / whole
    if draft is None:
        return 0.0
    module = transformers_module(draft)
    if module is None:
        raise ValueError(f"c_hat needs a draft of known weights, got {drafter.name}")
    return operations_per_token(module) / whole
