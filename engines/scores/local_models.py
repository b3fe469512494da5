"""Models that this machine loads itself: to run transformers' own loop, and to score texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engines.scores.text_scores import TextScores


def load(source: str) -> Any:
    """Returns a decoder-only model of transformers in float32, ready to decode.

    Raises:
      ValueError, OSError: if there is none.
    """
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    return model.eval()


def score(
    model: Any, prompt: Sequence[int], tokens: Sequence[int], *, temperature: float
) -> TextScores:
    """Returns how likely a model finds a text at a temperature.

    Among equally likely ids the least ranks first, as argmax has it. At temperature 0 the
    log-probabilities are those at temperature 1.

    Raises:
      ValueError: if a log-probability is NaN.
    """
    import torch

    ids = torch.tensor([[*prompt, *tokens]])
    with torch.inference_mode():
        rows = model(ids).logits[0, len(prompt) - 1 : -1].double()
    text = ids[0, len(prompt) :, None]
    own, less = rows.gather(1, text), torch.arange(rows.shape[1]) < text
    logs = torch.log_softmax(rows / (temperature if temperature > 0 else 1.0), dim=-1)
    return TextScores.of(
        logs.gather(1, text)[:, 0].numpy(),
        ((rows > own) | ((rows == own) & less)).sum(dim=-1).numpy() + 1,
    )
