"""Requests of blockwise drafts: heads to train, and an analysis of their drafts."""

from dataclasses import dataclass, field

from estimator.draft_names.kind import DrafterKind, ModelKind, parse_drafter
from estimator.draft_names.models import Embedded
from estimator.draft_names.ngram import Ngram
from estimator.settings import ModelSettings, PromptSettings, SamplingSettings
from estimator.training.request import HeadTraining
from reference.models.embedded import EMBEDDED
from studies.blockwise.draft_names.heads import HeadsName


def require_window(window: int, *, heads: int) -> None:
    """Refuses windows of text in which no position has a token ahead for each head."""
    if window <= heads:
        raise ValueError(f"a window must be longer than there are heads, {heads}, got {window}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainHeads(HeadTraining):
    """Settings of a training of blockwise heads on text.

    heads: Number of heads, including the model's own.
    joint: Train the model, too, and write it with the heads.
    """

    heads: int = 9
    joint: bool = False

    def __post_init__(self) -> None:
        HeadTraining.__post_init__(self)
        require_window(self.window, heads=self.heads)


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
        if self.text.num_prompts < 2:
            raise ValueError("an analysis needs at least 2 prompts, one of them to tune on, got 1")
        if len(self.drafts) > 1 or not isinstance(self.heads, HeadsName):
            raise ValueError(f"draft must be heads or heads:FOLDER, got {' '.join(self.drafts)}")
        if not self.heads.alone:
            raise ValueError(
                f"draft must be heads or heads:FOLDER without rescorer, got {self.drafts[0]}"
            )
        if self.rescorer is not None and not (
            isinstance(self.rescorer, ModelKind) and self.rescorer.rescores
        ):
            raise ValueError(f"neural must name a model, got {self.rescorer}")
        target = EMBEDDED if self.models.target is None else self.models.target
        for part in (*map(Ngram, self.ngrams), *filter(None, (self.rescorer,))):
            part.require(target, tokenizer=None, settings=self.models)

    @property
    def drafts(self) -> tuple[str, ...]:
        return self.models.drafts or (HeadsName.prefix,)

    @property
    def heads(self) -> DrafterKind:
        return parse_drafter(self.drafts[0])

    @property
    def rescorer(self) -> DrafterKind | None:
        """The small model that rescores; None: there is none."""
        if self.neural is not None:
            return parse_drafter(self.neural)
        return Embedded() if self.models.target in (None, EMBEDDED) else None
