"""The one training loop: rates, optimisers, steps, exact resumption, any number of devices."""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from reference.files import whole_file

SMOOTHING = 0.98
# How long processes wait for the work of one of them, such as writing texts.
PATIENCE = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The learning rate by step: a linear warm-up, a plateau, then a linear fall to 0.

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
    """Returns Muon for the matrices between hidden states, and AdamW for all other parameters."""
    edges = [part for part in module.modules() if isinstance(part, nn.Embedding)]
    head = getattr(module, "get_output_embeddings", lambda: None)()
    outside = {id(p) for part in [*edges, head] if part is not None for p in part.parameters()}
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    matrices = [p for p in trained if p.ndim == 2 and id(p) not in outside]
    others = [p for p in trained if p.ndim != 2 or id(p) in outside]
    optimisers: list[torch.optim.Optimizer] = []
    if matrices:
        optimisers += [
            torch.optim.Muon(matrices, weight_decay=0.05, adjust_lr_fn="match_rms_adamw")
        ]
    if others:
        optimisers += [torch.optim.AdamW(others, betas=(0.9, 0.95), weight_decay=0.0, fused=True)]
    return optimisers


@dataclass(frozen=True, slots=True)
class Training:
    """The settings of a training run.

    name: label of the progress bar.
    checkpoint: a safetensors file, from which training resumes if it exists.
    seed: seed of the module's own random numbers (dropout), which each step seeds again.
    settings: further settings; a checkpoint with different settings is refused.
    checkpoint_steps: number of steps between checkpoints; the last step also writes one.
    """

    name: str
    schedule: Schedule
    checkpoint: Path
    seed: int = 0
    settings: Mapping[str, object] = field(default_factory=dict)
    checkpoint_steps: int = 100


@dataclass(frozen=True, slots=True)
class Trained:
    """A run of the training loop.

    resumed: number of finished steps in the checkpoint at the beginning; 0 without a checkpoint.
    steps: number of steps of this run, without the resumed ones.
    seconds: wall time of this run.
    loss: loss of the last step; None if there was no step.
    """

    resumed: int
    steps: int
    seconds: float
    loss: float | None


def train(
    module: nn.Module,
    training: Training,
    *,
    batch: Callable[[int], Tensor],
    loss: Callable[[Tensor, int], Tensor],
    optimizers: Sequence[torch.optim.Optimizer],
) -> Trained:
    """Trains the module's parameters that require gradients, in place.

    A step depends only on its number, so a killed run that resumes from its checkpoint ends with
    the weights of an uninterrupted run on the same machine. Under `accelerate launch` (without
    GPUs: torchrun) each process takes an equal share of every batch, and gradients are averaged.

    module: left in evaluation mode.
    batch: returns the batch of a step, counted from 0, as a tensor with one row per example.
    loss: returns the loss (a scalar) of a process's rows of the batch at a step.

    Raises FloatingPointError if the loss is NaN or infinite; the last checkpoint is kept.
    """
    # Imported here because it is slow, and most importers never train.
    from accelerate.utils import reduce
    from tqdm import tqdm

    name, schedule, checkpoint = training.name, training.schedule, training.checkpoint
    process = this_process()
    parameters = {key: value for key, value in module.named_parameters() if value.requires_grad}
    identity = {"name": name, "steps": schedule.steps, "seed": training.seed}
    saved = json.dumps(identity | dict(training.settings), sort_keys=True), parameters, optimizers
    begun = load_checkpoint(checkpoint, *saved) if checkpoint.exists() else 0
    module.train()
    began = time.perf_counter()
    last: float | None = None
    smooth = math.nan
    progress = tqdm(
        range(begun, schedule.steps),
        desc=name,
        initial=begun,
        total=schedule.steps,
        mininterval=1,
        disable=None if process.is_main_process else True,
    )
    for step in progress:
        torch.manual_seed((training.seed * 1_000_003 + step) * 1_009 + process.process_index)
        whole = batch(step)
        require_equal_shares(len(whole), processes=process.num_processes)
        share = whole[process.process_index :: process.num_processes]
        value = loss(share, step)
        value.backward()
        if process.num_processes > 1:
            for parameter in parameters.values():
                if parameter.grad is not None:
                    parameter.grad = reduce(parameter.grad, reduction="mean")
        last = value.item()
        if not math.isfinite(last):
            raise FloatingPointError(f"the loss of {name} became {last} at step {step}")
        nn.utils.clip_grad_norm_(parameters.values(), 1.0)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = schedule.rate(step)
            optimizer.step()
            optimizer.zero_grad()
        smooth = last if math.isnan(smooth) else SMOOTHING * smooth + (1 - SMOOTHING) * last
        progress.set_postfix(loss=f"{smooth:.3f}", refresh=False)
        done = step + 1
        due = done % training.checkpoint_steps == 0 or done == schedule.steps
        if process.is_main_process and due:
            save_checkpoint(checkpoint, done, *saved)
    module.eval()
    steps = max(schedule.steps - begun, 0)
    return Trained(begun, steps, time.perf_counter() - began, last)


Parameters = Mapping[str, nn.Parameter]
Optimizers = Sequence[torch.optim.Optimizer]


def save_checkpoint(
    path: Path, step: int, identity: str, parameters: Parameters, optimizers: Optimizers
) -> None:
    """Writes parameters and optimisers atomically; `identity` holds the training's settings."""
    tensors = {f"model.{name}": value.detach().contiguous() for name, value in parameters.items()}
    for number, optimizer in enumerate(optimizers):
        for index, values in optimizer.state_dict()["state"].items():
            for key, value in values.items():
                tensors[f"optimizer.{number}.{index}.{key}"] = torch.as_tensor(value)
    with whole_file(path) as partial:
        save_file(tensors, partial, metadata={"step": str(step), "settings": identity})


@torch.no_grad()
def load_checkpoint(
    path: Path, identity: str, parameters: Parameters, optimizers: Optimizers
) -> int:
    """Restores a checkpoint in place, returns its number of steps; refuses another `identity`."""
    with safe_open(path, framework="pt") as file:
        note = file.metadata() or {}
        noted = note.get("settings", "a file of another kind")
        if noted != identity:
            raise ValueError(
                f"checkpoint {path} must be of this training, {identity}, got {noted}; delete it "
                "to start over"
            )
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for name, parameter in parameters.items():
        parameter.copy_(tensors[f"model.{name}"])
    states: list[dict[int, dict[str, Tensor]]] = [{} for _ in optimizers]
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, number, index, key = name.split(".")
            states[int(number)].setdefault(int(index), {})[key] = value
    for optimizer, state in zip(optimizers, states, strict=True):
        optimizer.load_state_dict(optimizer.state_dict() | {"state": state})
    return int(note["step"])


def this_process() -> Any:
    """Returns accelerate's state: the number of this process, and how many processes there are."""
    from accelerate import PartialState

    # Without `cpu`, each of several processes without a GPU would consider itself the only one.
    return PartialState(cpu=not torch.cuda.is_available(), timeout=PATIENCE)


def require_equal_shares(rows: int, *, processes: int) -> None:
    """Refuses a batch that processes cannot share equally, as gradients are averaged."""
    if rows % processes != 0:
        raise ValueError(
            f"a batch must have as many rows for each of {processes} processes, got {rows}"
        )
