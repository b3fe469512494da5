"""Checkpoints, from which a training resumes exactly, and the trained model on disk."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from reference.files import whole_file


def save_checkpoint(
    path: Path,
    *,
    step: int,
    settings: Mapping[str, object],
    parameters: Mapping[str, nn.Parameter],
    optimizers: Sequence[torch.optim.Optimizer],
) -> None:
    """Writes parameters and optimisers atomically; `settings` identify the training."""
    tensors = {f"model.{name}": value.detach().contiguous() for name, value in parameters.items()}
    for number, optimizer in enumerate(optimizers):
        for index, values in optimizer.state_dict()["state"].items():
            for key, value in values.items():
                tensors[f"optimizer.{number}.{index}.{key}"] = torch.as_tensor(value)
    note = {"step": str(step), "settings": json.dumps(dict(settings), sort_keys=True)}
    with whole_file(path) as partial:
        save_file(tensors, partial, metadata=note)


@torch.no_grad()
def load_checkpoint(
    path: Path,
    *,
    settings: Mapping[str, object],
    parameters: Mapping[str, nn.Parameter],
    optimizers: Sequence[torch.optim.Optimizer],
) -> int:
    """Restores parameters and optimisers in place; returns the number of finished steps.

    Refuses the checkpoint of a training with other settings.
    """
    with safe_open(path, framework="pt") as file:
        note = file.metadata() or {}
        identity = json.dumps(dict(settings), sort_keys=True)
        found = note.get("settings", "a file of another kind")
        if found != identity:
            raise ValueError(
                f"checkpoint {path} must be of this training, {identity}, got {found}; delete it "
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


def publish(
    folder: Path,
    module: Any,
    tokenizer: Any,
    note: Mapping[str, object],
    *,
    instead_of: Sequence[Path] = (),
) -> None:
    """Writes a folder with a model (safetensors), its tokenizer and training.json, atomically.

    instead_of: files of the unfinished training, which are removed once the folder is complete.
    """
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    module.save_pretrained(unfinished)
    tokenizer.save_pretrained(unfinished)
    (unfinished / "training.json").write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(folder)
    for file in instead_of:
        file.unlink(missing_ok=True)
