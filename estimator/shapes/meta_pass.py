"""One pass of a model on the meta device: the cache it fills, and how often it uses its weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel

# A pass over that many tokens.
TOKENS = 4


@dataclass(frozen=True, slots=True)
class MetaPass:
    """What one pass shows of a model, no number computed.

    cache: as the model returned it; its layers hold tensors of the right shapes.
    uses: how often the pass multiplied by each matrix, by its name, modules that share it taken
      together; one whose module it did not call is absent.
    """

    cache: Any
    uses: Mapping[str, int]


def meta_pass(model: PreTrainedModel) -> MetaPass:
    """Returns what a pass over a few tokens of one sequence shows.

    Args:
      model: on the meta device.

    Raises:
      ValueError: if the model cannot do the pass without weights, or keeps no cache of known kind.
    """
    import torch

    name = type(model).__name__
    ids = torch.ones(1, TOKENS, dtype=torch.long, device="meta")
    # transformers would look for padding in ids that have no values; some configurations check what
    # is set, and take no None.
    vars(model.config)["pad_token_id"] = None
    failed: list[Exception] = []
    # Some models make tensors of their own without a device, others compute with plain numbers.
    devices: tuple[AbstractContextManager[Any], ...] = (torch.device("meta"), nullcontext())
    for device in devices:
        try:
            with torch.no_grad(), device, _counted(model) as uses:
                output = model(input_ids=ids, use_cache=True)
            break
        except Exception as error:
            failed.append(error)
    else:
        why = " ".join(str(failed[0]).split())[:120]
        raise ValueError(f"the cache of {name} cannot be counted without weights: {why}")
    cache = getattr(output, "past_key_values", None)
    if cache is None:
        cache = getattr(output, "cache_params", None)
    if type(cache).__name__ != "DynamicCache":
        found = "no cache" if cache is None else type(cache).__name__
        raise ValueError(f"{name} must be a decoder with a cache of known layers, got {found}")
    return MetaPass(
        cache, {n: uses[id(each)] for n, each in model.named_parameters() if id(each) in uses}
    )


@contextmanager
def _counted(model: nn.Module) -> Iterator[dict[int, int]]:
    """Counts by identity how often matrices are used: the calls of all modules that hold them.

    Looking up is no use; an output matrix may be the embedding, too.
    """
    from torch import nn

    uses: dict[int, int] = {}

    def count(module: nn.Module, *_: Any) -> None:
        for each in module.parameters(recurse=False):
            if each.dim() >= 2:
                uses[id(each)] = uses.get(id(each), 0) + 1

    hooks = [
        module.register_forward_hook(count)
        for module in model.modules()
        if not isinstance(module, nn.Embedding)
    ]
    try:
        yield uses
    finally:
        for hook in hooks:
            hook.remove()
