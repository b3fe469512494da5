"""How likely a model finds a text's own tokens, and the acceptance that two models' scores give.

Along a text x that the target wrote at temperature 1, a drafted position is accepted and is x with

    a_t = min(1, q(x_t) / p(x_t))   drafts drawn from q       (Leviathan et al. 2023, Algorithm 1)
    a_t = [x_t is q's likeliest]    drafts that are q's argmax

so that two numbers for each token, which every server tells, replace two whole rows; the mean of
a_t is α, since E over x ~ p of min(1, q(x)/p(x)) is Σ min(p, q). At temperature 0 both are the
second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estimator.traces.traces import DraftSampling


@dataclass(frozen=True, slots=True)
class TextScores:
    """A model's view of the N tokens of a text.

    logprobs: of each token, shape (N,).
    ranks: of each token in its law, 1 for the likeliest, shape (N,).
    """

    logprobs: NDArray[np.float64]
    ranks: NDArray[np.int64]

    @classmethod
    def of(cls, logprobs: ArrayLike, ranks: ArrayLike) -> TextScores:
        """Returns scores, checked.

        Raises:
          ValueError: if a log-probability is missing, NaN or above 0, or a rank below 1.
        """
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
    """Returns a_t along a text that the target wrote at this temperature, shape (N,).

    Args:
      target, draft: their scores of the text, of the laws at this temperature where drafts are
        drawn from them.
      temperature: 0 makes drawn drafts argmax.
    """
    if draft_sampling == "argmax" or temperature == 0:
        return np.asarray(draft.ranks == 1, dtype=np.float64)
    return np.asarray(np.exp(np.minimum(0.0, draft.logprobs - target.logprobs)))
