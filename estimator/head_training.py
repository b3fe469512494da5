"""What every training of heads on text is asked, and what all of them do alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from estimator.drafters.kind import EMBEDDED
from estimator.loading.corpora import read_corpus
from estimator.loading.sources import target_source
from estimator.progress import Progress
from ngram.rows.vocabulary import vocabulary_of
from reference.models.cached_model import CachedModel
from reference.models.huggingface import load_model, resolve_device
from reference.training.loop import Training
from reference.training.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadTraining:
    """Heads to be trained on text.

    sources: files and folders of text, of which `tokens` are read.
    output: the folder to write, which must not exist.
    target: the decoder-only model that is to verify.
    hidden: units; None: the kind's own number of times the model's width.
    steps, rate, positions: of training; positions are those of a step.
    window: tokens read at once.
    device: auto, cpu or cuda.
    seed: of weights, and of what each step reads.
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
    def source(self) -> str:
        """Where the target is loaded from."""
        return target_source(self.target)

    @property
    def work(self) -> Path:
        """The folder beside the output that an interrupted run goes on from."""
        return self.output.with_name(f"{self.output.name}.training")

    @property
    def schedule(self) -> Schedule:
        """Steps and rates, of which a twentieth warms up."""
        return Schedule(self.steps, self.rate, warmup=max(self.steps // 20, 1))

    def require(self) -> None:
        """Refuses what can be refused before anything is read.

        Raises:
          ValueError: if steps or rate are out of range, or the output exists.
        """
        if self.output.exists():
            raise ValueError(f"output must not exist yet, got {self.output}")
        _ = self.schedule

    def stream(self, tokenizer: Any, progress: Progress) -> Tensor:
        """Returns the ids of the text, an end of text between two files, shape (tokens,)."""
        corpus = read_corpus(self.sources, None, tokenizer, progress=progress)
        stream = torch.from_numpy(corpus.sentences[: self.tokens].astype("int64"))
        stream[stream < 0] = vocabulary_of(tokenizer).end
        return stream

    def model(self, window: int) -> CachedModel:
        """Returns the target, which must be decoder-only and have positions for a window.

        Raises:
          ValueError: if it is or has not.
        """
        model = load_model(self.source, device=resolve_device(self.device), dtype="float32")
        if model.kind != "decoder-only":
            raise ValueError(
                f"heads are trained for decoder-only models, got {self.target} ({model.kind})"
            )
        if model.max_length is not None and window > model.max_length:
            raise ValueError(
                f"window must fit the {model.max_length} positions of {self.target}, got {window}"
            )
        return model

    def training(self, name: str, learnt: Tensor, settings: Mapping[str, object]) -> Training:
        """Returns the training on windows of ids, told from others by settings of its kind."""
        self.work.mkdir(exist_ok=True)
        return Training(
            name=name,
            schedule=self.schedule,
            checkpoint=self.work / "checkpoint.safetensors",
            seed=self.seed,
            settings={
                "target": self.target,
                **settings,
                "positions": self.positions,
                "rate": self.rate,
                "window": learnt.shape[1],
                "tokens": learnt.numel(),
            },
        )
