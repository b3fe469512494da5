"""Lessons: texts that a large model wrote, and a model's logits along them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from reference.models.cached_model import CachedModel


@dataclass(frozen=True, slots=True)
class Lesson:
    """A prompt and the large model's continuation.

    prompt, output: ids, at least one each.
    """

    prompt: tuple[int, ...]
    output: tuple[int, ...]


class OutputLogits(NamedTuple):
    """Logits along the outputs of several lessons, one row for each of their tokens.

    logits: shape (tokens, vocabulary), float32.
    tokens: the outputs' ids, shape (tokens,).
    """

    logits: Tensor
    tokens: Tensor


def logits_along(model: CachedModel, lessons: Sequence[Lesson]) -> OutputLogits:
    """Returns a model's logits for every token of the outputs, from one padded pass.

    Padding is on the right, where the attention of earlier tokens does not reach.

    Args:
      model: its module runs in its present mode, with gradients if they are enabled.
      lessons: at least one.
    """
    beginnings = [model.beginning(lesson.prompt) for lesson in lessons]
    texts = [[*text, *lesson.output[:-1]] for text, lesson in zip(beginnings, lessons, strict=True)]
    ids = _padded(texts, model.device)
    if model.kind == "encoder-decoder":
        given = _padded([lesson.prompt for lesson in lessons], model.device)
        widths = torch.tensor([len(lesson.prompt) for lesson in lessons], device=model.device)
        mask = torch.arange(given.shape[1], device=model.device) < widths[:, None]
        logits = model.module(
            input_ids=given, attention_mask=mask.long(), decoder_input_ids=ids, use_cache=False
        ).logits
    else:
        logits = model.module(input_ids=ids, use_cache=False).logits
    rows: list[int] = []
    places: list[int] = []
    tokens: list[int] = []
    for row, (text, lesson) in enumerate(zip(beginnings, lessons, strict=True)):
        rows += [row] * len(lesson.output)
        places += range(len(text) - 1, len(text) - 1 + len(lesson.output))
        tokens += lesson.output
    chosen = logits[
        torch.tensor(rows, device=model.device), torch.tensor(places, device=model.device)
    ]
    return OutputLogits(chosen.float(), torch.tensor(tokens, device=model.device))


def _padded(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Returns ids in one tensor, padded with zeros on the right; shape (rows, longest)."""
    return nn.utils.rnn.pad_sequence(
        [torch.tensor(row, device=device) for row in rows], batch_first=True
    )
