"""Whether an engine's texts are the target's: by the target's own view of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engines.scores.text_scores import TextScores

# Ids, and the target's scores of them.
Text = tuple[Sequence[int], TextScores]

FALSE_ALARM = 1e-4
# Of logits; those of half a hundred are two steps apart in bfloat16, so that rounding may tip them.
NEAR_TIE = 0.5


def text_gap(
    own: Sequence[Sequence[TextScores]], alone: Sequence[Sequence[TextScores]]
) -> str | None:
    """Returns how sampled texts of an engine differ from the target's own; None: they do not.

    The mean log-probability of a token under the target is compared prompt by prompt, by Student's
    t; where the texts are alike, one comparison in ten thousand calls them different.
    """
    from scipy.stats import t

    means = [
        np.array(
            [
                np.mean([text.logprobs.mean() for text in texts])
                for texts in zip(*runs, strict=True)
            ]
        )
        for runs in (own, alone)
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


def greedy_text_gap(own: Sequence[Text], alone: Sequence[Text]) -> str | None:
    """Returns how greedy texts differ from the target's own; None: at near ties at most.

    Up to the first id in which two texts part both continue the same ids, so that the difference of
    their log-probabilities there is the gap of the target's logits (`estimator.traces.ties`).
    """
    gaps = np.array([_gap(*texts) for texts in zip(own, alone, strict=True)])
    wrong = gaps > NEAR_TIE
    if not wrong.any():
        return None
    return (
        f"{int(wrong.sum())} of {len(gaps)} part from the target's own at an id that is no near "
        f"tie, {gaps.max():.2g} below its likeliest in logits"
    )


def _gap(own: Text, alone: Text) -> float:
    """Returns how far the first id of a text that is not the target's is below the target's."""
    (ids, scores), (others, targets) = own, alone
    parted = np.flatnonzero(np.not_equal(ids, others))
    return float((targets.logprobs - scores.logprobs)[parted[0]]) if len(parted) > 0 else 0.0
