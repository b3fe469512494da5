"""Fits a model's rows to another vocabulary width: models of one family may pad differently."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from reference.models.cached_model import CachedModel
from reference.models.model import Model


class FittedModel:
    """A model whose rows have the width of another model's rows.

    Ids beyond this model's own vocabulary get logit -inf; ids beyond the other model's are cut off.
    If the other model emits an id that this model lacks, it reads its own last id instead. The
    target verifies the draft in any case.
    """

    def __init__(self, model: Model, vocabulary: int) -> None:
        """Wraps a model."""
        self.model = model
        self.vocabulary = vocabulary

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def max_length(self) -> int | None:
        return self.model.max_length

    @property
    def rope_switch_length(self) -> int | None:
        return self.model.rope_switch_length

    @property
    def length(self) -> int:
        return self.model.length

    @property
    def forward_seconds(self) -> float:
        return self.model.forward_seconds

    def beginning(self, prompt: Sequence[int]) -> list[int]:
        return self.model.beginning(prompt)

    def start(self, prompt: Sequence[int]) -> list[int]:
        self.model.start([min(token, self.model.vocabulary - 1) for token in prompt])
        return self.beginning(prompt)

    def extend(self, tokens: Tensor, parents: Sequence[int] | None = None) -> Tensor:
        logits = self.model.extend(tokens.clamp(max=self.model.vocabulary - 1), parents)
        missing = self.vocabulary - logits.shape[-1]
        if missing > 0:
            return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)
        return logits[:, : self.vocabulary]

    def state(self, position: int) -> Tensor | None:
        return self.model.state(position)

    def keep(self, length: int, places: Sequence[int]) -> None:
        self.model.keep(length, places)

    def rollback(self, length: int) -> None:
        self.model.rollback(length)


def fitted(model: Model, vocabulary: int) -> Model:
    """Returns the model with rows of this width; the same object if its rows already fit."""
    return model if model.vocabulary == vocabulary else FittedModel(model, vocabulary)


def transformers_module(model: Model | None) -> Any:
    """Returns the `PreTrainedModel` inside a model; None if there is none."""
    if isinstance(model, FittedModel):
        return transformers_module(model.model)
    return model.module if isinstance(model, CachedModel) else None
