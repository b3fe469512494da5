"""Arithmetic operations per token, for the ratio c_hat of Leviathan et al. 2023, Theorem 10."""

from typing import Any

from estimator.draft_model import draft_model, transformers_module
from reference.drafter import Drafter


def operations_per_token(module: Any) -> int:
    """Returns 2 operations for each weight that multiplies a token's activations.

    Looking up an input embedding multiplies nothing; the output embedding does, tied or not.
    Attention over the cache, small at the lengths at hand, is left out.

    Args:
      module: a transformers model.
    """
    weights = int(module.num_parameters(exclude_embeddings=True))
    head = module.get_output_embeddings()
    tied = head is not None and head.weight is module.get_input_embeddings().weight
    return 2 * (weights + (head.weight.numel() if tied else 0))


def c_hat(target_module: Any, drafter: Drafter) -> float:
    """Returns operations of a draft step over operations of a target step; 0 for a table.

    Raises:
      ValueError: if the draft is a model of unknown weights.
    """
    draft = draft_model(drafter)
    if draft is None:
        return 0.0
    module = transformers_module(draft)
    if module is None:
        raise ValueError(f"c_hat needs a draft of known weights, got {drafter.name}")
    return operations_per_token(module) / operations_per_token(target_module)
