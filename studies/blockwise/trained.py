"""Trains blockwise heads as `specplan heads train` requests."""

import shutil
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from estimator.progress import SILENT, Progress
from estimator.training.heads import HeadTraining
from reference.models.cached_model import CachedModel
from reference.models.huggingface import load_tokenizer
from reference.training.loop import Trained
from studies.blockwise.heads import Heads, save_heads
from studies.blockwise.training import (
    head_accuracy,
    kept_states,
    train_jointly,
    train_on_states,
    windows_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainHeads(HeadTraining):
    """Settings of heads to train on text.

    heads: number of heads, the model's own included.
    hidden: width of the hidden layers; None: twice the model's width.
    joint: whether the model is trained together with the heads; else it is frozen.
    """

    heads: int = 9
    joint: bool = False


def train_heads(request: TrainHeads, progress: Progress = SILENT) -> dict[str, Any]:
    """Trains and writes heads; returns a summary with each head's accuracy on held-out text."""
    request.require()
    output, work = request.output, request.work
    tokenizer = load_tokenizer(request.source)
    stream = request.stream(tokenizer, progress)
    windows = windows_of(stream, request.window, heads=request.heads)
    held = max(len(windows) // 20, 1)
    learnt = windows[:-held] if len(windows) > 1 else windows
    model = request.model(windows.shape[1])
    torch.manual_seed(request.seed)
    embedding = model.module.get_output_embeddings()
    width = embedding.weight.shape[1]
    hidden = 2 * width if request.hidden is None else request.hidden
    made = Heads(heads=request.heads, width=width, hidden=hidden)
    made.to(model.device)
    unfinished = output.with_name(f"{output.name}.unfinished")
    done = _trained(request, made, model, learnt)
    accuracy = head_accuracy(
        made,
        embedding,
        windows=windows[-held:],
        states=kept_states(model.module, windows[-held:], work / "held-out"),
    )
    report: dict[str, Any] = {
        "model": str(output) if request.joint else request.target,
        "joint": request.joint,
        "steps": request.steps,
        "training_tokens": learnt.numel(),
        "held_out_accuracy": accuracy,
    }
    shutil.rmtree(unfinished, ignore_errors=True)
    if request.joint:
        model.module.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
    save_heads(unfinished, made, model.module, report)
    unfinished.rename(output)
    shutil.rmtree(work)
    return report | {
        "output": str(output),
        "heads": request.heads,
        "hidden": made.hidden,
        "resumed_at_step": done.resumed,
        "seconds": done.seconds,
        "loss": done.loss,
    }


def _trained(request: TrainHeads, made: Heads, model: CachedModel, learnt: Tensor) -> Trained:
    """Trains heads, and the model if requested; resumes an interrupted run."""
    settings = {"heads": request.heads, "hidden": made.hidden}
    name = "model and heads" if request.joint else "heads"
    training = request.training(name, learnt, settings)
    if request.joint:
        texts = max(request.positions // learnt.shape[1], 1)
        return train_jointly(made, model.module, training, windows=learnt, texts=texts)
    model.module.requires_grad_(False)
    return train_on_states(
        made,
        model.module.get_output_embeddings(),
        training,
        windows=learnt,
        states=kept_states(model.module, learnt, request.work / "states"),
        positions=request.positions,
    )
