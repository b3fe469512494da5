"""Trains heads on text: common settings, and EAGLE-3 heads."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from estimator.draft_names.kind import EMBEDDED
from estimator.loading.folders import load_named_tokenizer, read_corpus, target_source
from estimator.progress import SILENT, Progress
from ngram.rows.rows import vocabulary_of
from reference.models.architectures import CausalModel
from reference.models.cached_model import CachedModel
from reference.models.huggingface import load_model, resolve_device
from reference.state_heads.eagle3 import Eagle3, shape_for
from reference.state_heads.eagle3_folder import save_eagle3
from reference.training.loop import Schedule, Training
from reference.training.unrolling import acceptance_ahead, train_unrolled, windows_along


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadTraining:
    """Settings of heads to train on text.

    sources: files and folders of text, from which the first `tokens` tokens are read.
    output: folder for the trained head, which must not exist.
    target: the decoder-only model that will verify the head's drafts.
    hidden: number of hidden units; None: a multiple of the model's width, by kind of head.
    rate, positions: largest learning rate, and number of text positions per training step.
    """

    sources: tuple[str, ...]
    output: Path
    target: str = EMBEDDED
    hidden: int | None = None
    steps: int = 2000
    rate: float = 3e-3
    positions: int = 512
    window: int = 256
    tokens: int = 300_000
    device: str = "auto"
    seed: int = 0

    @property
    def work(self) -> Path:
        """The folder, next to the output, with checkpoints from which training resumes."""
        return self.output.with_name(f"{self.output.name}.training")

    @property
    def schedule(self) -> Schedule:
        """The learning rate by step; the first twentieth of the steps is the warm-up."""
        return Schedule(self.steps, self.rate, warmup=max(self.steps // 20, 1))

    def __post_init__(self) -> None:
        if self.output.exists():
            raise ValueError(f"output must not exist yet, got {self.output}")
        _ = self.schedule  # refuses its settings before any text or model is read

    def stream(self, tokenizer: Any, progress: Progress) -> Tensor:
        """Returns the ids of all texts, with an end-of-text id between files, shape (tokens,)."""
        corpus = read_corpus(self.sources, None, tokenizer, progress=progress)
        stream = torch.from_numpy(corpus.sentences[: self.tokens].astype("int64"))
        return stream.where(stream >= 0, vocabulary_of(tokenizer).end)

    def model(self, window: int) -> CachedModel:
        """Returns the target after checking that it is decoder-only and has enough positions."""
        model = load_model(
            target_source(self.target), device=resolve_device(self.device), dtype="float32"
        )
        if not isinstance(model, CausalModel):
            raise ValueError(
                f"heads are trained for decoder-only models, got {self.target} ({model.kind})"
            )
        if model.max_length is not None and window > model.max_length:
            raise ValueError(
                f"window must fit the {model.max_length} positions of {self.target}, got {window}"
            )
        return model

    def training(self, name: str, learnt: Tensor, settings: Mapping[str, object]) -> Training:
        """Returns the training loop, which refuses a checkpoint made with other settings.

        name: label of the progress bar. learnt: token ids to learn, shape (windows, tokens).
        """
        self.work.mkdir(exist_ok=True)
        identity = {
            "target": self.target,
            **settings,
            "positions": self.positions,
            "rate": self.rate,
            "window": learnt.shape[1],
            "tokens": learnt.numel(),
        }
        checkpoint = self.work / "checkpoint.safetensors"
        return Training(name, self.schedule, checkpoint, self.seed, identity)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainEagle3(HeadTraining):
    """Settings of an EAGLE-3 head to train on text, with a frozen target.

    hidden: width of the feed-forward layer; None: four times the model's width.
    unrolled: tokens drafted from each position in training, at least 1.
    """

    unrolled: int = 4


def train_eagle3(request: TrainEagle3, progress: Progress = SILENT) -> dict[str, Any]:
    """Trains and writes a head; returns a summary with its acceptance on held-out text."""
    stream = request.stream(load_named_tokenizer(request.target), progress)
    length = min(request.window, len(stream) // 2)
    if length < request.unrolled + 2:
        raise ValueError(
            f"two windows of the training text must hold {request.unrolled + 2} tokens each, "
            f"got {length}"
        )
    ids = stream[: len(stream) // length * length].view(-1, length)
    model = request.model(ids.shape[1])
    torch.manual_seed(request.seed)
    head = Eagle3(shape_for(model.module, hidden=request.hidden), model.module)
    head.to(model.device)
    model.module.requires_grad_(False)
    along = windows_along(model.module, ids, head.taps, name=request.target)
    held = max(len(ids) // 20, 1)
    learnt, kept = along.part(slice(-held)), along.part(slice(-held, None))
    hidden = head.shape.body.intermediate_size
    unrolled, embedding = request.unrolled, model.module.get_output_embeddings()
    training = request.training("eagle3", learnt.ids, {"hidden": hidden, "unrolled": unrolled})
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
