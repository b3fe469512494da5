"""Early exit: a draft made of the target's own first layers, with its embeddings and head."""

import copy
from typing import Any

from torch import nn

from reference.models.cached_model import CachedModel
from reference.models.device_map import is_spread
from reference.models.states import layer_stack


def early_exit(target: CachedModel, layers: int) -> CachedModel:
    """Returns a model that leaves the target after its first layers.

    It shares their weights, the embeddings, the final norm and the head with the target, and has
    a cache of its own. Of an encoder-decoder it is the decoder that is left early.

    Args:
      target: a stack of layers (Llama and its like, GPT-2, OPT, GPT-NeoX, T5, BART, ...).
      layers: how many to keep, at least 1 and fewer than the target has.

    Raises:
      ValueError: if layers is out of range, or the target is no single stack or spread over several
        devices.
    """
    if is_spread(target.module):
        # Its passes are bound to the module that they were made for.
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
    """Returns a module like this one but for the child at a dotted path; all else is shared."""
    first, _, rest = path.partition(".")
    clone = copy.copy(module)
    # The copy's attributes are its own, but the table of children is still the original's.
    clone._modules = dict(module._modules)
    clone._modules[first] = with_child(module._modules[first], rest, child) if rest else child
    return clone
