"""Models derived from other models: with another vocabulary width, or with fewer layers."""

import copy
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from reference.models.cached_model import CachedModel, is_spread
from reference.models.memory import layer_stack
from reference.models.model import Model


class FittedModel:
    """Wraps a draft model, so that its logits have the width of the target's vocabulary.

    Models of one family may pad their logits to different widths. Ids beyond the draft's vocabulary
    get logit -inf; ids beyond the target's are cut off. If the target emits an id that the draft
    lacks, the draft reads its own last id instead. The output stays exact: the target verifies it.
    """

    def __init__(self, model: Model, vocabulary: int) -> None:
        self.model = model
        self.vocabulary = vocabulary

    def __getattr__(self, name: str) -> Any:
        # Copying looks up special methods before the copy has a model.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.model, name)

    def start(self, prompt: Sequence[int]) -> list[int]:
        self.model.start([min(token, self.model.vocabulary - 1) for token in prompt])
        return self.model.beginning(prompt)

    def extend(self, tokens: Tensor, parents: Sequence[int] | None = None) -> Tensor:
        logits = self.model.extend(tokens.clamp(max=self.model.vocabulary - 1), parents)
        missing = self.vocabulary - logits.shape[-1]
        if missing > 0:
            return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)
        return logits[:, : self.vocabulary]


def fitted(model: Model, vocabulary: int) -> Model:
    """Returns the model with logits of this width; the model itself if they already have it."""
    fits = model.vocabulary == vocabulary
    return model if fits else cast(Model, FittedModel(model, vocabulary))


def transformers_module(model: Model | None) -> Any:
    """Returns the `PreTrainedModel` that a model wraps; None if there is none."""
    if isinstance(model, FittedModel):
        return transformers_module(model.model)
    return model.module if isinstance(model, CachedModel) else None


def early_exit(target: CachedModel, layers: int) -> CachedModel:
    """Returns a draft model made of the target's first layers.

    It shares weights, embeddings, final norm and head with the target, and has its own cache. For
    an encoder-decoder target the decoder is shortened.

    target: a model on one device, with one stack of layers (Llama, GPT-2, OPT, T5, BART, ...).
    layers: number of layers to keep, at least 1 and fewer than the target has.
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
    """Returns a copy of a module with a new child at a dotted path; it shares all other parts."""
    first, _, rest = path.partition(".")
    clone = copy.copy(module)
    # The copied module still shares the original's table of children.
    clone._modules = dict(module._modules)
    clone._modules[first] = with_child(module._modules[first], rest, child) if rest else child
    return clone
