"""Scores of a text by a model, and the acceptance that the scores of two models imply.

At token x_t of a text that the target wrote at temperature 1, a draft is accepted with probability

    a_t = min(1, q(x_t) / p(x_t))   drafts drawn from q       (Leviathan et al. 2023, Algorithm 1)
    a_t = [x_t is q's likeliest]    drafts that are q's argmax

so two numbers per token, which servers report, replace two distributions. The mean of a_t is α,
because the mean of min(1, q(x)/p(x)) over x ~ p is Σ min(p, q). At temperature 0 drafts are argmax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engines.engine import Engine, Setting
from estimator.traces.traces import DraftSampling


@dataclass(frozen=True, slots=True)
class TextScores:
    """A model's scores of the N tokens of a text: arrays of shape (N,).

    logprobs: log-probabilities. ranks: ranks in the model's distribution, 1 for the likeliest.
    """

    logprobs: NDArray[np.float64]
    ranks: NDArray[np.int64]

    @classmethod
    def of(cls, logprobs: ArrayLike, ranks: ArrayLike) -> TextScores:
        """Returns scores; refuses log-probabilities that are NaN or above 0, and ranks below 1."""
        logs = np.asarray(logprobs, dtype=np.float64)
        checked = np.asarray(ranks, dtype=np.int64)
        bad = ~(logs <= 1e-6)
        if bad.any():
            position = int(bad.argmax())
            raise ValueError(
                "log-probabilities of a text must be numbers of at most 0, "
                f"got {logs[position]} at its token {position}"
            )
        if (checked < 1).any():
            raise ValueError(f"ranks of tokens must be at least 1, got {checked.min()}")
        return cls(logs, checked)


def acceptance(
    target: TextScores, draft: TextScores, *, draft_sampling: DraftSampling, temperature: float
) -> NDArray[np.float64]:
    """Returns the probability a_t that a draft of token t is accepted, shape (N,).

    Args:
      target, draft: scores of one text of the target, at `temperature` if drafts are sampled.
      temperature: the target's temperature; at 0, drafts are always the argmax.
    """
    if draft_sampling == "argmax" or temperature == 0:
        return np.asarray(draft.ranks == 1, dtype=np.float64)
    return np.asarray(np.exp(np.minimum(0.0, draft.logprobs - target.logprobs)))


def load_causal(source: str) -> Any:
    """Returns a decoder-only transformers model in float32."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    return model.eval()


def score_text(
    model: Any, prompt: Sequence[int], tokens: Sequence[int], *, temperature: float
) -> TextScores:
    """Returns a model's scores of the text `tokens` after a prompt.

    If two ids are equally likely, the smaller one ranks first, as in argmax. Log-probabilities for
    temperature 0 are computed at temperature 1.
    """
    import torch

    ids = torch.tensor([[*prompt, *tokens]])
    with torch.inference_mode():
        rows = model(ids).logits[0, len(prompt) - 1 : -1]
    return scores_of(rows, tokens, temperature=temperature)


def scores_of(logits: Any, tokens: Sequence[int], *, temperature: float = 1.0) -> TextScores:
    """Returns the scores of N tokens by a model's logits at each, a tensor of shape (N, V)."""
    import torch

    rows, text = logits.double(), torch.tensor(tokens)[:, None]
    of_text, less = rows.gather(1, text), torch.arange(rows.shape[1]) < text
    logs = torch.log_softmax(rows / (temperature if temperature > 0 else 1.0), dim=-1)
    return TextScores.of(
        logs.gather(1, text)[:, 0].numpy(),
        ((rows > of_text) | ((rows == of_text) & less)).sum(dim=-1).numpy() + 1,
    )


# A prompt and its text.
Text = tuple[tuple[int, ...], tuple[int, ...]]
# Target and draft scores of a text.
Pair = tuple[TextScores, TextScores]
# Returns target and draft scores of texts at a temperature.
Scorer = Callable[[Sequence[Text], float], list[Pair]]


def local_scorer(target: str, draft: str) -> Scorer:
    """Returns a scorer for any temperature, which loads both models once on this machine."""
    load = cache(load_causal)

    def scored(texts: Sequence[Text], temperature: float) -> list[Pair]:
        of_target, of_draft = (
            [score_text(load(source), *text, temperature=temperature) for text in texts]
            for source in (target, draft)
        )
        return list(zip(of_target, of_draft, strict=True))

    return scored


def engine_scorer(engine: Engine) -> Scorer:
    """Returns a scorer for temperatures 0 and 1; the engine serves the target, then the draft."""

    def scored(texts: Sequence[Text], temperature: float) -> list[Pair]:
        if temperature not in (0, 1):
            raise ValueError(
                "temperature must be 0 or 1 where the server scores texts, whose log-probabilities "
                f"are of temperature 1, got {temperature:g}"
            )
        scores = []
        for setting in (Setting(0), Setting(0, model="draft")):
            served: AbstractContextManager[Any] = engine.serve(setting)
            with served as server:
                scores.append([server.score(*text) for text in texts])
        return list(zip(*scores, strict=True))

    return scored
