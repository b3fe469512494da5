"""The learning rate at each step of a training, and the optimisers."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True, slots=True)
class Schedule:
    """A linear warm-up, a plateau, then a linear fall to 0.

    steps: number of steps, at least 0.
    peak: learning rate of the plateau, above 0.
    warmup: number of warm-up steps, at least 1.
    decay: share of the steps, in [0, 1], over which the rate falls at the end.
    """

    steps: int
    peak: float
    warmup: int = 100
    decay: float = 1.0

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise ValueError(f"steps must be at least 0, got {self.steps}")
        if not 0 < self.peak < float("inf"):
            raise ValueError(f"peak must be finite and above 0, got {self.peak}")
        if self.warmup < 1:
            raise ValueError(f"warmup must be at least 1, got {self.warmup}")
        if not 0 <= self.decay <= 1:
            raise ValueError(f"decay must lie in [0, 1], got {self.decay}")

    def rate(self, step: int) -> float:
        """Returns the learning rate of a step, counted from 0."""
        rate = self.peak * min(1.0, (step + 1) / self.warmup)
        if self.decay == 0:
            return rate
        return rate * min(1.0, (self.steps - step) / (self.decay * self.steps))


def muon_and_adamw(module: nn.Module) -> list[torch.optim.Optimizer]:
    """Returns Muon for the matrices inside the layers, and AdamW for all other parameters.

    Muon suits matrices that map hidden states to hidden states; embeddings, output heads and norms
    do not.
    """
    outside = {
        id(parameter)
        for part in module.modules()
        if isinstance(part, nn.Embedding)
        for parameter in part.parameters()
    }
    head = getattr(module, "get_output_embeddings", lambda: None)()
    if head is not None:
        outside |= {id(parameter) for parameter in head.parameters()}
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    matrices = [p for p in trained if p.ndim == 2 and id(p) not in outside]
    inside = {id(p) for p in matrices}
    others = [p for p in trained if id(p) not in inside]
    optimizers: list[torch.optim.Optimizer] = []
    if matrices:
        muon = torch.optim.Muon(matrices, weight_decay=0.05, adjust_lr_fn="match_rms_adamw")
        optimizers.append(muon)
    if others:
        adamw = torch.optim.AdamW(others, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
        optimizers.append(adamw)
    return optimizers
