"""Scores of a text by a model, and the acceptance that the scores of two models imply.

Where a text that the target wrote at temperature 1 has x_t, a draft is accepted with probability

    a_t = min(1, q(x_t) / p(x_t))   drafts drawn from q       (Leviathan et al. 2023, Algorithm 1)
    a_t = [x_t is q's likeliest]    drafts that are q's argmax

so two numbers per token, which servers report, replace two whole rows. The mean of a_t is α,
because the mean of min(1, q(x)/p(x)) over x ~ p is Σ min(p, q). At temperature 0 drafts are argmax.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estimator.traces.traces import DraftSampling


@dataclass(frozen=True, slots=True)
class TextScores:
    """A model's scores of the N tokens of a text.

    logprobs: log-probabilities, shape (N,).
    ranks: ranks in the model's distribution, 1 for the likeliest, shape (N,).
    """

    logprobs: NDArray[np.float64]
    ranks: NDArray[np.int64]

    @classmethod
    def of(cls, logprobs: ArrayLike, ranks: ArrayLike) -> TextScores:
        """Returns scores; refuses log-probabilities that are NaN or above 0, and ranks below 1."""
        logs = np.asarray(logprobs, dtype=np.float64)
        found = np.asarray(ranks, dtype=np.int64)
        bad = ~(logs <= 1e-6)
        if bad.any():
            position = int(bad.argmax())
            raise ValueError(
                "log-probabilities of a text must be numbers of at most 0, "
                f"got {logs[position]} at its token {position}"
            )
        if (found < 1).any():
            raise ValueError(f"ranks of tokens must be at least 1, got {found.min()}")
        return cls(logs, found)


def acceptance(
    target: TextScores, draft: TextScores, *, draft_sampling: DraftSampling, temperature: float
) -> NDArray[np.float64]:
    """Returns the probability a_t that the draft of each token of the target's text is accepted.

    Its shape is (N,) for the N tokens of the text.

    Args:
      target, draft: the models' scores of the text, at `temperature` for sampled drafts.
      draft_sampling: whether drafts are sampled from the draft model or its argmax.
      temperature: temperature of the target; at 0, sampled drafts are argmax, too.
    """
    if draft_sampling == "argmax" or temperature == 0:
        return np.asarray(draft.ranks == 1, dtype=np.float64)
    return np.asarray(np.exp(np.minimum(0.0, draft.logprobs - target.logprobs)))


# Ids of a text, and the target's scores of them.
Text = tuple[Sequence[int], TextScores]

FALSE_ALARM = 1e-4
# Difference of logits that rounding may reverse: two steps of bfloat16 near 50.
NEAR_TIE = 0.5


def text_gap(
    own: Sequence[Sequence[TextScores]], baseline: Sequence[Sequence[TextScores]]
) -> str | None:
    """Returns how an engine's sampled texts differ from the target's own; None: they do not.

    Student's t compares the mean log-probability of a token under the target, prompt by prompt,
    at a false-alarm rate of FALSE_ALARM.

    own, baseline: the target's scores of the engine's and of its own texts, by repeat and prompt.
    """
    from scipy.stats import t

    # By prompt: the mean over repeats of a text's mean.
    means = [
        np.mean([[text.logprobs.mean() for text in texts] for texts in runs], axis=0)
        for runs in (own, baseline)
    ]
    differences = means[0] - means[1]
    if len(differences) < 2:
        return None
    deviation = float(differences.std(ddof=1)) / np.sqrt(len(differences))
    limit = float(t.isf(FALSE_ALARM / 2, len(differences) - 1))
    if abs(float(differences.mean())) <= limit * deviation:
        return None
    return (
        f"the target gives their tokens a mean log-probability of {means[0].mean():.2f}, its own "
        f"{means[1].mean():.2f}"
    )


def greedy_text_gap(own: Sequence[Text], baseline: Sequence[Text]) -> str | None:
    """Returns how an engine's greedy texts differ from the target's own; None: only at near ties.

    At the first different id both texts continue the same ids, so the difference of their
    log-probabilities is the difference of the target's logits.
    """
    gaps = []
    for (ids, scores), (others, targets) in zip(own, baseline, strict=True):
        parted = np.flatnonzero(np.not_equal(ids, others))[:1]
        gaps.append(float((targets.logprobs - scores.logprobs)[parted].sum()))  # 0 if texts agree
    wrong = sum(gap > NEAR_TIE for gap in gaps)
    if wrong == 0:
        return None
    return (
        f"{wrong} of {len(gaps)} part from the target's own at an id that is no near "
        f"tie, {max(gaps):.2g} below its likeliest in logits"
    )


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

    Equally likely ids rank in ascending order, like argmax. At temperature 0 the log-probabilities
    are those at temperature 1.
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
