"""Scores of a text by a model, and the acceptance that the scores of two models imply.

At token x_t of a text that the target wrote at temperature 1, a draft is accepted with probability

    a_t = min(1, q(x_t) / p(x_t))   drafts drawn from q       (Leviathan et al. 2023, Algorithm 1)
    a_t = [x_t is q's likeliest]    drafts that are q's argmax

so two numbers per token, which servers report, replace two distributions. The mean of a_t is α,
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
    """Returns the probability a_t of accepting a draft, at each token of the target's text.

    The result has shape (N,) for a text of N tokens.

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
    """Returns how an engine's sampled texts differ from the target's own; None if they do not.

    A paired t-test over prompts compares the target's mean log-probability of a token in both sets
    of texts, at a false-alarm rate of FALSE_ALARM.

    own, baseline: the target's scores of the engine's texts, and of the target's own texts; both
      by repeat and prompt.
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
    """Returns how an engine's greedy texts differ from the target's; None if only at near ties.

    Up to the first different id both texts are equal. So the log-probabilities of the two ids
    differ by as much as the target's logits.
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

    If two ids are equally likely, the smaller id ranks first, as in argmax. At temperature 0, the
    function returns the log-probabilities at temperature 1.
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
