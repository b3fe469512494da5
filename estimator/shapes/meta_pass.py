"""One pass of a model on the meta device: the cache it fills, and how often it uses its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
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
    calls: how often the pass used each module that holds matrices, by its name; those that it did
      not call as modules are absent.
    """

    cache: Any
    calls: Mapping[str, int]


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
    for device in (torch.device("meta"), nullcontext()):
        try:
            with torch.no_grad(), device, _counted(model) as calls:
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
    return MetaPass(cache, calls)


@contextmanager
def _counted(model: nn.Module) -> Iterator[dict[str, int]]:
    """Counts the calls of the modules that hold matrices of their own."""
    calls: dict[str, int] = {}

    def counter(name: str) -> Callable[..., None]:
        def count(*_: Any) -> None:
            calls[name] = calls.get(name, 0) + 1

        return count

    hooks = [
        module.register_forward_hook(counter(name))
        for name, module in model.named_modules()
        if any(each.dim() >= 2 for each in module.parameters(recurse=False))
    ]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()
