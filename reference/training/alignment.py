"""Model prediction alignment: a small model learns to write what the large one writes.

Kim et al. 2023, section 3.5.1; and early exits, which train two models in one (section 4.4).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from reference.models.cached_model import CachedModel
from reference.training.lessons import Lesson, logits_along
from reference.training.loop import Trained, Training, train
from reference.training.schedule import Schedule

TargetLaw = Callable[[], Tensor]
"""Returns the target's distributions along the same tokens, shape (tokens, vocabulary)."""


def hard_labels(logits: Tensor, tokens: Tensor, law: TargetLaw) -> Tensor:
    """Returns the mean of -ln q(x) for the target's tokens x (Kim et al. 2023, section 3.5.1)."""
    return nn.functional.cross_entropy(logits, tokens)


def soft_labels(logits: Tensor, tokens: Tensor, law: TargetLaw) -> Tensor:
    """Returns the mean cross-entropy of q under the target's distribution p (distillation)."""
    return -(law() * logits.log_softmax(dim=-1)).sum(dim=-1).mean()


def total_variation(logits: Tensor, tokens: Tensor, law: TargetLaw) -> Tensor:
    """Returns the mean of 1 - sum min(p, q), which is 1 - alpha.

    Leviathan et al. 2023, section 6: "optimizing M_q for alpha directly".
    """
    return 1 - law().minimum(logits.softmax(dim=-1)).sum(dim=-1).mean()


LOSSES = {"hard": hard_labels, "soft": soft_labels, "tv": total_variation}


@dataclass(frozen=True, slots=True)
class Course:
    """The settings of an alignment.

    schedule: learning rates of AdamW.
    batch: lessons per step, at least 1.
    checkpoint: file from which an interrupted training resumes.
    seed: seed of the batches and of dropout.
    """

    schedule: Schedule
    batch: int
    checkpoint: Path
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise ValueError(f"batch must be at least 1, got {self.batch}")


def align(
    large: CachedModel,
    small: CachedModel,
    lessons: Sequence[Lesson],
    course: Course,
    *,
    loss: str,
) -> Trained:
    """Trains the small model in place on texts that the large one wrote.

    Args:
      large: not changed.
      small: decoder-only or encoder-decoder like the large model; its rows may have another
        width.
      lessons: at least one.
      course: settings of the training.
      loss: a name of `LOSSES`.
    """
    large.module.requires_grad_(False)

    def learned(chosen: Sequence[Lesson]) -> Tensor:
        along = logits_along(small, chosen)
        logits = along.logits[:, : large.vocabulary]
        return LOSSES[loss](logits, along.tokens, lambda: _laws(large, chosen, logits.shape[-1]))

    return _teach(small, lessons, course, learned, settings={"loss": loss})


def train_exits(
    large: CachedModel, small: CachedModel, lessons: Sequence[Lesson], course: Course
) -> Trained:
    """Trains a model in place so that it can exit early (Kim et al. 2023, section 4.4).

    "We train the model with the average loss of these two layers"; the labels are the lessons'
    tokens. No keys and values have to be filled in, because the large model reads every token that
    the exit wrote.

    Args:
      large: the model to train, all of it.
      small: its early exit, which shares its weights (`reference.drafters.early_exit`).
      lessons: at least one.
      course: settings of the training.
    """

    def learned(chosen: Sequence[Lesson]) -> Tensor:
        exits = [logits_along(model, chosen) for model in (small, large)]
        first, last = (nn.functional.cross_entropy(along.logits, along.tokens) for along in exits)
        return (first + last) / 2

    return _teach(large, lessons, course, learned, settings={"exit": small.name})


def _teach(
    model: CachedModel,
    lessons: Sequence[Lesson],
    course: Course,
    learned: Callable[[Sequence[Lesson]], Tensor],
    *,
    settings: Mapping[str, object],
) -> Trained:
    if not lessons:
        raise ValueError("a calibration set must have at least one text, got none")
    model.module.requires_grad_(True)
    training = Training(
        name=f"align {model.name}",
        schedule=course.schedule,
        checkpoint=course.checkpoint,
        seed=course.seed,
        settings={
            "batch": course.batch,
            "peak": course.schedule.peak,
            "lessons": len(lessons),
            **settings,
        },
    )
    return train(
        model.module,
        training,
        batch=lambda step: _rows(step, len(lessons), course.batch, course.seed),
        loss=lambda rows, step: learned([lessons[row] for row in rows.tolist()]),
        optimizers=[torch.optim.AdamW(model.module.parameters(), weight_decay=0.0)],
    )


@torch.no_grad()
def _laws(large: CachedModel, lessons: Sequence[Lesson], width: int) -> Tensor:
    return logits_along(large, lessons).logits[:, :width].softmax(dim=-1)


def _rows(step: int, lessons: int, batch: int, seed: int) -> Tensor:
    """Returns the lessons of a step: epoch after epoch, each in its own random order."""
    wanted = torch.arange(step * batch, (step + 1) * batch)
    orders = {
        int(epoch): torch.randperm(
            lessons, generator=torch.Generator().manual_seed(seed * 1_000_003 + int(epoch))
        )
        for epoch in (wanted // lessons).unique()
    }
    return torch.stack([orders[int(place) // lessons][int(place) % lessons] for place in wanted])
