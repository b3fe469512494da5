"""A model seen through another's vocabulary: models of one family may pad rows differently."""

from collections.abc import Sequence

import torch
from torch import Tensor

from reference.models.model import Model


class FittedModel:
    """A model whose rows are as wide as another's.

    Ids beyond the model's own are impossible under its law (logit -inf), and its ids beyond the
    other's are cut off. An id that it does not know, and that the other emitted all the same, is
    read as the last that it knows: any law it then gives is as good for drafting as the next.
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
    def turning_length(self) -> int | None:
        return self.model.turning_length

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
    """Returns the model with rows of width vocabulary: itself where they are."""
    return model if model.vocabulary == vocabulary else FittedModel(model, vocabulary)
