"""Arithmetic operations per token, for the ratio c_hat of Leviathan et al. 2023, Theorem 10."""

from typing import Any

from reference.cached_model import CachedModel
from reference.drafter import Drafter
from reference.fitted_model import FittedModel
from reference.model_drafter import ModelDrafter


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
    """Returns operations of a draft step over operations of a target step; 0 for a table."""
    if not isinstance(drafter, ModelDrafter):
        return 0.0
    draft = drafter.draft.model if isinstance(drafter.draft, FittedModel) else drafter.draft
    if not isinstance(draft, CachedModel):
        raise ValueError(f"c_hat needs a draft of known weights, got {drafter.name}")
    return operations_per_token(draft.module) / operations_per_token(target_module)
