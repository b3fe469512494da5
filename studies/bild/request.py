"""Requests of BiLD: a sweep over its thresholds, one text, and an alignment."""

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from estimator.draft_names.kind import one_draft
from estimator.draft_names.suitable import require_draft_models
from estimator.requests import GenerateAlone
from estimator.settings import ModelSettings, PromptSettings, SamplingSettings, TimedPair
from estimator.training.request import require_rate
from studies.bild import (
    CERTAINTY,
    DISTANCE,
    FALLBACKS,
    ONE_FALLBACK,
    ONE_ROLLBACK,
    PAPERS_MOST,
    ROLLBACKS,
    require_fallback,
    require_rollback,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Settings of a sweep: it runs BiLD at all pairs of thresholds, and speculative decoding.

    fallback, rollback: thresholds, at least one of each; an infinite rollback never rejects.
    windows: lengths of fixed windows without a fallback (the ablation of Figure 5).
    certainty, distance: names of the measures to which the thresholds apply.
    gammas: draft lengths of speculative decoding.
    lenience: lenience of a second, lossy speculative decoder; None or 1: 0.5 is used.
    max_gamma: most tokens that the small model writes in a row; None: the paper's 10.
    """

    fallback: tuple[float, ...] = FALLBACKS
    rollback: tuple[float, ...] = ROLLBACKS
    windows: tuple[int, ...] = ()
    certainty: str = CERTAINTY
    distance: str = DISTANCE
    gammas: tuple[int, ...] = (1, 2, 4, 8)
    lenience: float | None = None
    max_gamma: int | None = None

    def __post_init__(self) -> None:
        if not self.fallback or not self.rollback:
            raise ValueError(
                "a sweep must have at least one fallback and one rollback, got "
                f"{len(self.fallback)} and {len(self.rollback)}"
            )
        for fallback, most in product(self.fallback, (self.max_draft, *self.windows)):
            require_fallback(fallback, most)
        for rollback in self.rollback:
            require_rollback(rollback)

    @property
    def max_draft(self) -> int:
        """Largest number of tokens that the small model writes in a row."""
        return PAPERS_MOST if self.max_gamma is None else self.max_gamma


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateBild(TimedPair):
    """A request for sweeps, which measure quality and latency of BiLD and of other decoders."""

    grid: Grid = field(default_factory=Grid)
    temperatures: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        require_draft_models(self.models, "for `decoder` bild")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateBild(GenerateAlone):
    """A request to generate one text by BiLD: the small model writes while it is confident.

    draft_temperature: temperature of the small model; None: the large model's.
    max_gamma: most tokens that the small model writes in a row; None: the paper's 10.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    draft_temperature: float | None = None
    fallback: float = ONE_FALLBACK
    rollback: float = ONE_ROLLBACK
    certainty: str = CERTAINTY
    distance: str = DISTANCE
    max_gamma: int | None = None

    def __post_init__(self) -> None:
        GenerateAlone.__post_init__(self)
        one_draft(self.models)
        require_draft_models(self.models, "for `decoder` bild")
        require_fallback(self.fallback, self.max_draft)
        require_rollback(self.rollback)

    @property
    def max_draft(self) -> int:
        """Most tokens that the small model writes in a row."""
        return PAPERS_MOST if self.max_gamma is None else self.max_gamma


@dataclass(frozen=True, slots=True, kw_only=True)
class Align:
    """Settings of an alignment, which trains the small model on texts that the large model wrote.

    loss: hard: the large model's tokens (Kim et al. 2023); soft: its distributions; tv: 1 - alpha.
    steps: Training steps.
    batch: Texts for each step.
    rate: Learning rate at its peak.
    held_out: Number of prompts, taken from the end, that are kept for evaluation.
    temperature: Temperature of the large model; 0 is greedy.
    fallback: BiLD's fallback threshold in the evaluation.
    rollback: BiLD's rollback threshold in the evaluation.
    seed: Seed of texts and batches.
    output: Folder for the trained model; an interrupted run resumes from the files next to it.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    text: PromptSettings = field(default_factory=PromptSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    loss: str = "hard"
    steps: int = 200
    batch: int = 16
    rate: float = 3e-4
    held_out: int = 16
    temperature: float = 0.0
    fallback: float = ONE_FALLBACK
    rollback: float = ONE_ROLLBACK
    seed: int = 0
    output: Path

    def __post_init__(self) -> None:
        if self.models.device_map is not None:
            raise ValueError(f"device_map cannot be given with align, got {self.models.device_map}")
        one_draft(self.models)
        require_draft_models(self.models, "to be trained")
        require_rate(self.rate)
        require_fallback(self.fallback, PAPERS_MOST)
        require_rollback(self.rollback)
        if self.text.num_prompts <= self.held_out:
            raise ValueError(
                "a calibration set must have at least one text in addition to "
                f"{self.held_out} held out, got {self.text.num_prompts} prompts in all"
            )
