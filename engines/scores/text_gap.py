"""Whether an engine's sampled texts are the target's: by the target's own view of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engines.scores.text_scores import TextScores

FALSE_ALARM = 1e-4


def text_gap(
    own: Sequence[Sequence[TextScores]], alone: Sequence[Sequence[TextScores]]
) -> str | None:
    """Returns how the texts of an engine differ from the target's own; None where they do not.

    The mean log-probability of a token under the target is compared prompt by prompt, by Student's
    t; where the texts are alike, one comparison in ten thousand calls them different.

    Args:
      own: the target's scores of the texts of the engine with its draft, by repeat, then prompt.
      alone: of those of the target alone, on the same prompts at the same temperature.
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
