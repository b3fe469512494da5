"""An EAGLE-3 head for a model of one's own, as a user asks for it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from estimator.head_training import HeadTraining
from estimator.progress import SILENT, Progress
from reference.models.huggingface import load_tokenizer
from reference.state_heads.eagle3 import Eagle3, shape_for
from reference.state_heads.eagle3_folder import save_eagle3
from reference.training.unrolling import (
    acceptance_ahead,
    train_unrolled,
    windows_along,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainEagle3(HeadTraining):
    """An EAGLE-3 head to be trained on text, its target frozen.

    hidden: of the feed-forward layer; None: four times the model's width.
    unrolled: tokens drafted from each position in training, at least 1.
    """

    unrolled: int = 4


def train_eagle3(request: TrainEagle3, progress: Progress = SILENT) -> dict[str, Any]:
    """Returns what was trained and its acceptance by position on text kept apart; it is written.

    Args:
      request: what is asked.
      progress: counts files of text.

    Raises:
      ValueError: with the setting's name, rule and value.
    """
    request.require()
    ids = _windows(request, load_tokenizer(request.source), progress)
    model = request.model(ids.shape[1])
    torch.manual_seed(request.seed)
    head = Eagle3(shape_for(model.module, hidden=request.hidden), model.module)
    head.to(model.device)
    model.module.requires_grad_(False)
    along = windows_along(model.module, ids, head.taps, name=request.target)
    held = max(len(ids) // 20, 1)
    learnt, kept = along.part(slice(-held)), along.part(slice(-held, None))
    hidden = head.shape.body.intermediate_size
    settings = {"hidden": hidden, "unrolled": request.unrolled}
    training = request.training("eagle3", learnt.ids, settings)
    embedding = model.module.get_output_embeddings()
    done = train_unrolled(
        head,
        embedding,
        training,
        [learnt],
        steps=request.unrolled,
        positions=request.positions,
    )
    ahead = acceptance_ahead(head, embedding, kept, steps=request.unrolled)
    save_eagle3(request.output, head)
    shutil.rmtree(request.work)
    return {
        "output": str(request.output),
        "model": request.target,
        "steps": request.steps,
        "training_tokens": learnt.ids.numel(),
        "held_out_acceptance": ahead,
        "hidden": hidden,
        "resumed_at_step": done.resumed,
        "seconds": done.seconds,
        "loss": done.loss,
    }


def _windows(request: TrainEagle3, tokenizer: Any, progress: Progress) -> Tensor:
    stream = request.stream(tokenizer, progress)
    length = min(request.window, len(stream) // 2)
    if length < request.unrolled + 2:
        raise ValueError(
            f"two windows of the training text must hold {request.unrolled + 2} tokens each, "
            f"got {length}"
        )
    return stream[: len(stream) // length * length].view(-1, length)
