"""Requests of blockwise drafts: heads to train, and an analysis of their drafts."""

from dataclasses import dataclass, field

from estimator.settings import ModelSettings, PromptSettings, SamplingSettings
from estimator.training.request import HeadTraining


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainHeads(HeadTraining):
    """Settings of a training of blockwise heads on text.

    heads: Number of heads, including the model's own.
    joint: Train the model, too, and write it with the heads.
    """

    heads: int = 9
    joint: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyseHeads:
    """Settings of an analysis: how well blockwise heads draft the target's own greedy texts.

    models: the target, and heads as its only draft. text: at least 2 prompts.
    ngrams: An n-gram model that rescores; repeatable.  [default: the embedded trigram]
    neural: A small model that rescores: embedded, or a name or folder.  [default: embedded with the
      embedded target, else none]
    tuning_share: Share of the prompts on which the rescorers' weights are chosen.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    text: PromptSettings = field(default_factory=PromptSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    ngrams: tuple[str, ...] = ()
    neural: str | None = None
    tuning_share: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.tuning_share < 1:
            raise ValueError(f"tuning_share must lie in (0, 1), got {self.tuning_share}")
