"""Model prediction alignment: a small model learns to write what the large one writes.

Kim et al. 2023, section 3.5.1; and early exits, which train two models in one (section 4.4).
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reference.models.architectures import EncoderDecoderModel
from reference.models.cached_model import CachedModel
from reference.training.loop import Trained, Training, train

TargetLaw = Callable[[], Tensor]
"""Returns the target's distributions along the same tokens, shape (tokens, vocabulary)."""


def hard_labels(logits: Tensor, tokens: Tensor, law: TargetLaw) -> Tensor:
    """Returns the mean of -ln q(x) for the target's tokens x (Kim et al. 2023, section 3.5.1)."""
    return nn.functional.cross_entropy(logits, tokens)


def soft_labels(logits: Tensor, tokens: Tensor, law: TargetLaw) -> Tensor:
    """Returns the mean cross-entropy of q under the target's distribution p (distillation)."""
    return -(law() * logits.log_softmax(dim=-1)).sum(dim=-1).mean()


def total_variation(logits: Tensor, tokens: Tensor, law: TargetLaw) -> Tensor:
    """Returns 1 - alpha: the mean of 1 - sum min(p, q) (Leviathan et al. 2023, section 6)."""
    return 1 - law().minimum(logits.softmax(dim=-1)).sum(dim=-1).mean()


LOSSES = {"hard": hard_labels, "soft": soft_labels, "tv": total_variation}


@dataclass(frozen=True, slots=True)
class Lesson:
    """A prompt and its continuation by the large model, as ids; neither is empty."""

    prompt: tuple[int, ...]
    output: tuple[int, ...]


def logits_along(model: CachedModel, lessons: Sequence[Lesson]) -> tuple[Tensor, Tensor]:
    """Returns a model's logits for every token of the lessons' outputs, and these tokens.

    The logits have shape (tokens, vocabulary), float32. All lessons are read in one pass, padded on
    the right. The caller sets training or evaluation mode, and whether gradients are computed.
    """
    texts = [[*model.beginning(lesson.prompt), *lesson.output[:-1]] for lesson in lessons]
    ids = _padded(texts, model.device)
    if isinstance(model, EncoderDecoderModel):
        given = _padded([lesson.prompt for lesson in lessons], model.device)
        widths = torch.tensor([len(lesson.prompt) for lesson in lessons], device=model.device)
        mask = torch.arange(given.shape[1], device=model.device) < widths[:, None]
        logits = model.module(
            input_ids=given, attention_mask=mask.long(), decoder_input_ids=ids, use_cache=False
        ).logits
    else:
        logits = model.module(input_ids=ids, use_cache=False).logits
    # The last ids of each text, as many as its output has, predict the output.
    outputs = [
        row[len(text) - len(lesson.output) : len(text)]
        for row, text, lesson in zip(logits, texts, lessons, strict=True)
    ]
    tokens = [token for lesson in lessons for token in lesson.output]
    return torch.cat(outputs).float(), torch.tensor(tokens, device=model.device)


def _padded(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Returns ids in one tensor, padded with zeros on the right; shape (rows, longest)."""
    return nn.utils.rnn.pad_sequence(
        [torch.tensor(row, device=device) for row in rows], batch_first=True
    )


def align(
    large: CachedModel,
    small: CachedModel,
    lessons: Sequence[Lesson],
    training: Training,
    *,
    batch: int,
    loss: str,
) -> Trained:
    """Trains the small model in place, by AdamW, on at least one text that the large one wrote.

    small: decoder-only or encoder-decoder like the large model; its logits may have another
      width.
    training: `training.seed` also determines the order of the lessons.
    batch: number of lessons per step, at least 1.
    loss: a key of `LOSSES`.
    """
    large.module.requires_grad_(False)

    def learned(chosen: Sequence[Lesson]) -> Tensor:
        logits, tokens = logits_along(small, chosen)
        logits = logits[:, : large.vocabulary]

        @torch.no_grad()
        def law() -> Tensor:
            return logits_along(large, chosen)[0][:, : logits.shape[-1]].softmax(dim=-1)

        return LOSSES[loss](logits, tokens, law)

    return _teach(small, lessons, training, learned, batch=batch, settings={"loss": loss})


def train_exits(
    large: CachedModel,
    small: CachedModel,
    lessons: Sequence[Lesson],
    training: Training,
    *,
    batch: int,
) -> Trained:
    """Trains a model in place so that it can exit early (Kim et al. 2023, section 4.4).

    The loss is the average of the cross-entropies of the model and of its early exit `small`, which
    shares its weights; the labels are the lessons' tokens. All weights of `large` are trained. In
    decoding, the large model reads every token that the exit wrote, so it lacks no keys or values.
    """

    def learned(chosen: Sequence[Lesson]) -> Tensor:
        exits = [logits_along(model, chosen) for model in (small, large)]
        first, last = (nn.functional.cross_entropy(logits, tokens) for logits, tokens in exits)
        return (first + last) / 2

    return _teach(large, lessons, training, learned, batch=batch, settings={"exit": small.name})


def _teach(
    model: CachedModel,
    lessons: Sequence[Lesson],
    training: Training,
    learned: Callable[[Sequence[Lesson]], Tensor],
    *,
    batch: int,
    settings: Mapping[str, object],
) -> Trained:
    if batch < 1:
        raise ValueError(f"batch must be at least 1, got {batch}")
    if not lessons:
        raise ValueError("a calibration set must have at least one text, got none")
    model.module.requires_grad_(True)
    of_lessons = {"batch": batch, "peak": training.schedule.peak, "lessons": len(lessons)}
    return train(
        model.module,
        replace(training, settings=of_lessons | dict(settings)),
        batch=lambda step: _rows(step, len(lessons), batch, training.seed),
        loss=lambda rows, step: learned([lessons[row] for row in rows.tolist()]),
        optimizers=[torch.optim.AdamW(model.module.parameters(), weight_decay=0.0)],
    )


def _rows(step: int, lessons: int, batch: int, seed: int) -> Tensor:
    """Returns the indices of a step's lessons; each epoch has a new order of all lessons."""
    first, last = step * batch // lessons, ((step + 1) * batch - 1) // lessons
    seeds = [seed * 1_000_003 + epoch for epoch in range(first, last + 1)]
    orders = [
        torch.randperm(lessons, generator=torch.Generator().manual_seed(order_seed))
        for order_seed in seeds
    ]
    return torch.cat(orders)[step * batch - first * lessons :][:batch]


def publish(
    folder: Path,
    module: Any,
    tokenizer: Any,
    note: Mapping[str, object],
    *,
    instead_of: Sequence[Path] = (),
) -> None:
    """Writes a model, its tokenizer and training.json; then removes the files `instead_of`."""
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    module.save_pretrained(unfinished)
    tokenizer.save_pretrained(unfinished)
    (unfinished / "training.json").write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(folder)
    for file in instead_of:
        file.unlink(missing_ok=True)
