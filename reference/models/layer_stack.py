"""A decoder's stack of layers, which families keep under names of their own."""

from typing import Any

from torch import nn


def layer_stack(module: Any, *, what: str, name: str) -> tuple[str, nn.ModuleList]:
    """Returns the one stack of layers of a model's decoder, and its name there.

    Args:
      module: a `PreTrainedModel`.
      what: needs it, for the message.
      name: of the model, for the message.

    Raises:
      ValueError: if there is none, or several.
    """
    children = module.get_decoder().named_children()
    stacks = [(path, child) for path, child in children if isinstance(child, nn.ModuleList)]
    if len(stacks) != 1:
        raise ValueError(
            f"{what} needs a single stack of layers, got {len(stacks)} in {name} "
            f"({module.config.model_type})"
        )
    return stacks[0]
