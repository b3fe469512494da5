"""An EAGLE-3 head for a model of one's own, as a user asks for it."""

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
from reference.state_heads.eagle3 import Eagle3, shape_for
from reference.state_heads.eagle3_folder import save_eagle3
from reference.training.loop import Training
from reference.training.schedule import Schedule
from reference.training.unrolling import (
    acceptance_ahead,
    train_unrolled,
    windows_along,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainEagle3:
    """An EAGLE-3 head to be trained on text, its target frozen.

    sources: files and folders of text, of which `tokens` are read.
    output: the folder to write, which must not exist.
    target: the decoder-only model that is to verify.
    hidden: units of the feed-forward layer; None: four times the model's width.
    unrolled: tokens drafted from each position in training, at least 1.
    steps, rate, positions: of training; positions are those of a step.
    window: tokens read at once.
    device: auto, cpu or cuda.
    seed: of weights and windows.
    """

    sources: tuple[str, ...]
    output: Path
    target: str = EMBEDDED
    hidden: int | None = None
    unrolled: int = 4
    steps: int = 2000
    rate: float = 3e-3
    positions: int = 512
    window: int = 256
    tokens: int = 300_000
    device: str = "auto"
    seed: int = 0


def train_eagle3(request: TrainEagle3, progress: Progress = SILENT) -> dict[str, Any]:
    """Returns what was trained and its acceptance by position on text kept apart; it is written.

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
    ids = _windows(request, load_tokenizer(source), progress)
    model = _model(request, source)
    torch.manual_seed(request.seed)
    head = Eagle3(shape_for(model.module, hidden=request.hidden), model.module)
    head.to(model.device)
    model.module.requires_grad_(False)
    along = windows_along(model.module, ids, head.taps, name=request.target)
    held = max(len(ids) // 20, 1)
    learnt, kept = along.part(slice(-held)), along.part(slice(-held, None))
    work = output.with_name(f"{output.name}.training")
    work.mkdir(exist_ok=True)
    training = Training(
        name="eagle3",
        schedule=schedule,
        checkpoint=work / "checkpoint.safetensors",
        seed=request.seed,
        settings={
            "target": request.target,
            "hidden": head.shape.body.intermediate_size,
            "unrolled": request.unrolled,
            "positions": request.positions,
            "rate": request.rate,
            "window": ids.shape[1],
            "tokens": learnt.ids.numel(),
        },
    )
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
    save_eagle3(output, head)
    shutil.rmtree(work)
    return {
        "output": str(output),
        "model": request.target,
        "steps": request.steps,
        "training_tokens": learnt.ids.numel(),
        "held_out_acceptance": ahead,
        "hidden": head.shape.body.intermediate_size,
        "resumed_at_step": done.resumed,
        "seconds": done.seconds,
        "loss": done.loss,
    }


def _windows(request: TrainEagle3, tokenizer: Any, progress: Progress) -> Tensor:
    corpus = read_corpus(request.sources, None, tokenizer, progress=progress)
    stream = torch.from_numpy(corpus.sentences[: request.tokens].astype("int64"))
    stream[stream < 0] = vocabulary_of(tokenizer).end
    length = min(request.window, len(stream) // 2)
    if length < request.unrolled + 2:
        raise ValueError(
            f"two windows of the training text must hold {request.unrolled + 2} tokens each, "
            f"got {length}"
        )
    return stream[: len(stream) // length * length].view(-1, length)


def _model(request: TrainEagle3, source: str) -> CachedModel:
    model = load_model(source, device=resolve_device(request.device), dtype="float32")
    if model.kind != "decoder-only":
        raise ValueError(
            f"heads are trained for decoder-only models, got {request.target} ({model.kind})"
        )
    if model.max_length is not None and request.window > model.max_length:
        raise ValueError(
            f"window must fit the {model.max_length} positions of {request.target}, "
            f"got {request.window}"
        )
    return model
