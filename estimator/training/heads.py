"""Trains heads on text: common settings, and EAGLE-3 heads."""

import shutil
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from estimator.loading.folders import load_named_tokenizer, read_corpus
from estimator.progress import SILENT, Progress
from estimator.training.request import HeadTraining, TrainEagle3
from ngram.rows.rows import vocabulary_of
from reference.models.architectures import CausalModel
from reference.models.cached_model import CachedModel
from reference.models.embedded import target_source
from reference.models.huggingface import load_model, resolve_device
from reference.state_heads.eagle3 import Eagle3, shape_for
from reference.state_heads.eagle3_folder import save_eagle3
from reference.training.loop import Schedule, Training
from reference.training.unrolling import acceptance_ahead, train_unrolled, windows_along


def schedule_of(request: HeadTraining) -> Schedule:
    """Returns the learning rate by step; the first twentieth of the steps is the warm-up."""
    return Schedule(request.steps, request.rate, warmup=max(request.steps // 20, 1))


def stream_of(request: HeadTraining, tokenizer: Any, progress: Progress) -> Tensor:
    """Returns the ids of all texts, with an end-of-text id between files, shape (tokens,)."""
    corpus = read_corpus(request.sources, None, tokenizer, progress=progress)
    stream = torch.from_numpy(corpus.sentences[: request.tokens].astype("int64"))
    return stream.where(stream >= 0, vocabulary_of(tokenizer).end)


def model_of(request: HeadTraining, window: int) -> CachedModel:
    """Returns the target after checking that it is decoder-only and has enough positions."""
    model = load_model(
        target_source(request.target), device=resolve_device(request.device), dtype="float32"
    )
    if not isinstance(model, CausalModel):
        raise ValueError(
            f"heads are trained for decoder-only models, got {request.target} ({model.kind})"
        )
    if model.max_length is not None and window > model.max_length:
        raise ValueError(
            f"window must fit the {model.max_length} positions of {request.target}, got {window}"
        )
    return model


def training_of(
    request: HeadTraining, name: str, learnt: Tensor, settings: Mapping[str, object]
) -> Training:
    """Returns the training loop, which refuses a checkpoint made with other settings.

    name: label of the progress bar. learnt: token ids to learn, shape (windows, tokens).
    """
    request.work.mkdir(exist_ok=True)
    identity = {
        "target": request.target,
        **settings,
        "positions": request.positions,
        "rate": request.rate,
        "window": learnt.shape[1],
        "tokens": learnt.numel(),
    }
    checkpoint = request.work / "checkpoint.safetensors"
    return Training(name, schedule_of(request), checkpoint, request.seed, identity)


def train_eagle3(request: TrainEagle3, progress: Progress = SILENT) -> dict[str, Any]:
    """Trains and writes a head; returns a summary with its acceptance on held-out text."""
    stream = stream_of(request, load_named_tokenizer(request.target), progress)
    length = min(request.window, len(stream) // 2)
    if length < request.unrolled + 2:
        raise ValueError(
            f"two windows of the training text must hold {request.unrolled + 2} tokens each, "
            f"got {length}"
        )
    ids = stream[: len(stream) // length * length].view(-1, length)
    model = model_of(request, ids.shape[1])
    torch.manual_seed(request.seed)
    head = Eagle3(shape_for(model.module, hidden=request.hidden), model.module)
    head.to(model.device)
    model.module.requires_grad_(False)
    along = windows_along(model.module, ids, head.taps, name=request.target)
    held = max(len(ids) // 20, 1)
    learnt, kept = along.part(slice(-held)), along.part(slice(-held, None))
    hidden = head.shape.body.intermediate_size
    unrolled, embedding = request.unrolled, model.module.get_output_embeddings()
    training = training_of(request, "eagle3", learnt.ids, {"hidden": hidden, "unrolled": unrolled})
    done = train_unrolled(
        head, embedding, training, [learnt], steps=unrolled, positions=request.positions
    )
    ahead = acceptance_ahead(head, embedding, kept, steps=unrolled)
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
