"""Requests for training: n-gram models and heads."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reference.models.embedded import EMBEDDED
from reference.models.folders import require_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainNgram:
    """Settings of an n-gram model to train.

    order: Words in the longest n-grams, 1 to 6.
    tokenizer_name: The target's tokenizer, or the target: embedded, a Hugging Face name or a
      folder.
    output: The ARPA file to write.
    prune: Drop n-grams that occur this often or less: a count for each order, as 0,0,1; the last
      count also holds for higher orders.
    estimator: KenLM's lmplz or our own, with equal results; auto: lmplz if it is given or on PATH.
    smoothing: Interpolated modified Kneser-Ney, or Katz's back-off with Good-Turing discounts.
    lmplz: Path of KenLM's lmplz, if it is not on PATH.
    """

    order: int = 3
    sources: tuple[str, ...]
    pattern: str | None = None
    tokenizer_name: str
    output: Path
    prune: str = "0"
    estimator: str = "auto"
    smoothing: Literal["kneser-ney", "katz"] = "kneser-ney"
    lmplz: str | None = None

    @property
    def counts(self) -> list[int]:
        try:
            return [int(part) for part in self.prune.split(",")]
        except ValueError:
            message = f"prune must be counts separated by commas, got {self.prune!r}"
            raise ValueError(message) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreNgram:
    """Settings of a measurement of an n-gram model's perplexity on a text.

    tokenizer_name: Tokenizer of the model, named as in train.  [default: the one it was trained
      with]
    binary: Let KenLM score with this binary, built from the model by its build_binary.
    force: Score even if the model was trained with another tokenizer.
    """

    model: Path
    sources: tuple[str, ...]
    pattern: str | None = None
    tokenizer_name: str | None = None
    binary: Path | None = None
    force: bool = False


def require_rate(rate: float) -> None:
    """Refuses a peak learning rate that is not finite and above 0."""
    if not 0 < rate < math.inf:
        raise ValueError(f"rate must be finite and above 0, got {rate}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadTraining:
    """Settings of heads to train on text.

    target: The decoder-only model that is to draft for itself.
    hidden: Hidden units of a head.  [default: 2 x the model's width; with --kind eagle3: 4 x]
    steps: Training steps.
    rate: Peak learning rate.
    positions: Text positions in each training step.
    window: Tokens of text that the model reads in one pass.
    tokens: Tokens of training text: the first of the corpus.
    seed: Seed of initial weights and of training positions.
    output: Folder for the heads; an interrupted run resumes from the files next to it.
    """

    target: str = EMBEDDED
    sources: tuple[str, ...]
    hidden: int | None = None
    steps: int = 2000
    rate: float = 3e-3
    positions: int = 512
    window: int = 256
    tokens: int = 300_000
    device: str = "auto"
    seed: int = 0
    output: Path

    @property
    def work(self) -> Path:
        """The folder, next to the output, with checkpoints from which training resumes."""
        return self.output.with_name(f"{self.output.name}.training")

    def __post_init__(self) -> None:
        if self.output.exists():
            raise ValueError(f"output must not exist yet, got {self.output}")
        from ngram.training.corpus import corpus_files

        if self.target != EMBEDDED:
            require_folder(self.target)
        require_rate(self.rate)
        corpus_files(self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainEagle3(HeadTraining):
    """Settings of an EAGLE-3 head to train on text, with a frozen target.

    unrolled: With --kind eagle3: tokens drafted from each position in training.
    """

    unrolled: int = 4
