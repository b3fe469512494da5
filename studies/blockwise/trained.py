"""Heads for a model of one's own, as a user asks for them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from estimator.drafters.kind import EMBEDDED
from estimator.loading.corpora import read_corpus
from estimator.loading.sources import target_source
from estimator.progress import SILENT, Progress
from ngram.rows.vocabulary import vocabulary_of
from reference.models.cached_model import CachedModel
from reference.models.huggingface import load_model, load_tokenizer, resolve_device
from reference.training.loop import Trained, Training
from reference.training.schedule import Schedule
from studies.blockwise.folder import save_heads
from studies.blockwise.heads import Heads
from studies.blockwise.training import (
    head_accuracy,
    kept_states,
    train_jointly,
    train_on_states,
    windows_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainHeads:
    """Heads to be trained on text, on a frozen model or with it.

    sources: files and folders of text, of which `tokens` are read.
    output: the folder to write, which must not exist.
    target: the decoder-only model that is to draft for itself.
    heads: how many, the model's own included.
    hidden: units; None: twice the model's width.
    steps, rate, positions: of training; positions are those of a step.
    window: tokens read at once.
    joint: whether the model is trained, too.
    device: auto, cpu or cuda.
    seed: of weights and positions.
    """

    sources: tuple[str, ...]
    output: Path
    target: str = EMBEDDED
    heads: int = 9
    hidden: int | None = None
    steps: int = 2000
    rate: float = 3e-3
    positions: int = 512
    window: int = 256
    tokens: int = 300_000
    joint: bool = False
    device: str = "auto"
    seed: int = 0


def train_heads(request: TrainHeads, progress: Progress = SILENT) -> dict[str, Any]:
    """Returns what was trained and how often each head is right on text kept apart; it is written.

    Args:
      request: what is asked.
      progress: counts files of text.

    Raises:
      ValueError: with the setting's name, rule and value.
    """
    output = request.output
    if output.exists():
        raise ValueError(f"output must not exist yet, got {output}")
    schedule = Schedule(request.steps, request.rate, warmup=max(request.steps // 20, 1))
    source = target_source(request.target)
    tokenizer = load_tokenizer(source)
    windows = _windows(request, tokenizer, progress)
    held = max(len(windows) // 20, 1)
    learnt = windows[:-held] if len(windows) > 1 else windows
    model = _model(request, source, windows.shape[1])
    torch.manual_seed(request.seed)
    embedding = model.module.get_output_embeddings()
    width = embedding.weight.shape[1]
    hidden = 2 * width if request.hidden is None else request.hidden
    made = Heads(heads=request.heads, width=width, hidden=hidden)
    made.to(model.device)
    work, unfinished = (
        output.with_name(f"{output.name}.{kind}") for kind in ("training", "unfinished")
    )
    work.mkdir(exist_ok=True)
    done = _trained(request, made, model, learnt, work, schedule)
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


def _windows(request: TrainHeads, tokenizer: Any, progress: Progress) -> Tensor:
    corpus = read_corpus(request.sources, None, tokenizer, progress=progress)
    stream = torch.from_numpy(corpus.sentences[: request.tokens].astype("int64"))
    stream[stream < 0] = vocabulary_of(tokenizer).end
    return windows_of(stream, request.window, heads=request.heads)


def _model(request: TrainHeads, source: str, window: int) -> CachedModel:
    model = load_model(source, device=resolve_device(request.device), dtype="float32")
    if model.kind != "decoder-only":
        raise ValueError(
            f"heads are trained for decoder-only models, got {request.target} ({model.kind})"
        )
    if model.max_length is not None and window > model.max_length:
        raise ValueError(
            f"window must fit the {model.max_length} positions of {request.target}, got {window}"
        )
    return model


def _trained(
    request: TrainHeads,
    made: Heads,
    model: CachedModel,
    learnt: Tensor,
    work: Path,
    schedule: Schedule,
) -> Trained:
    """Trains the heads, with the model where that is asked; resumes what stands in the folder."""
    training = Training(
        name="model and heads" if request.joint else "heads",
        schedule=schedule,
        checkpoint=work / "checkpoint.safetensors",
        seed=request.seed,
        settings={
            "target": request.target,
            "heads": request.heads,
            "hidden": made.hidden,
            "positions": request.positions,
            "rate": request.rate,
            "window": learnt.shape[1],
            "tokens": learnt.numel(),
        },
    )
    if request.joint:
        texts = max(request.positions // learnt.shape[1], 1)
        return train_jointly(made, model.module, training, windows=learnt, texts=texts)
    model.module.requires_grad_(False)
    return train_on_states(
        made,
        model.module.get_output_embeddings(),
        training,
        windows=learnt,
        states=kept_states(model.module, learnt, work / "states"),
        positions=request.positions,
    )
