"""Early exit: a draft model made of the target's first layers, its embeddings and its head."""

import copy
from typing import Any

from torch import nn

from reference.models.cached_model import CachedModel
from reference.models.device_map import is_spread
from reference.models.states import layer_stack


def early_exit(target: CachedModel, layers: int) -> CachedModel:
    """Returns a model that stops after the target's first layers.

    It shares weights, embeddings, final norm and head with the target, and has its own cache. For
    an encoder-decoder target the decoder is shortened.

    Args:
      target: a model with one stack of layers (Llama, GPT-2, OPT, GPT-NeoX, T5, BART, ...).
      layers: number of layers to keep, at least 1 and fewer than the target has.

    Raises:
      ValueError: if layers is out of range, or if the target has several stacks of layers or runs
        on several devices.
    """
    if is_spread(target.module):
        # The hooks of a spread model are bound to the module that they were made for.
        raise ValueError(
            f"an early exit needs a target on one device, got {target.name} spread by a device_map"
        )
    decoder = target.module.get_decoder()
    name, stack = layer_stack(target.module, what="an early exit", name=target.name)
    if not 1 <= layers < len(stack):
        raise ValueError(
            f"an early exit must come after at least 1 layer and before the last of the "
            f"{len(stack)} layers of {target.name}, got {layers}"
        )
    path = next(path for path, module in target.module.named_modules() if module is decoder)
    module = with_child(target.module, f"{path}.{name}", nn.ModuleList(stack[:layers]))
    return type(target)(module, f"exit:{layers}")


def with_child(module: Any, path: str, child: nn.Module) -> Any:
    """Returns a copy of a module with another child at a dotted path; all else is shared."""
    first, _, rest = path.partition(".")
    clone = copy.copy(module)
    # The copied module still shares the original's table of children.
    clone._modules = dict(module._modules)
    clone._modules[first] = with_child(module._modules[first], rest, child) if rest else child
    return clone
