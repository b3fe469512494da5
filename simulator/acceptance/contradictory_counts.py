"""Counts that contradict each other: they cannot all be of the same requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simulator.acceptance.accepted import Accepted
from simulator.acceptance.rate_prior import logits_of
from simulator.acceptance.tokens import alpha_from_block_efficiency
from simulator.numerics.arguments import Floats

# A length contradicts the others if it is this many standard deviations from their prediction.
_CONTRADICTS = 2.5
# Rounding to two decimals moves a difference of lengths by up to this many tokens.
_ROUNDED = 0.01
# Largest rise of the logits from the first positions to later ones; published drafts reach 1.8
# (`specplan plan --typical list`).
_MOST_RISE = 3.0


def unfitting(counted: Sequence[Accepted], off: Floats, logs: Floats) -> tuple[str, ...]:
    """Returns a warning for each count that is many standard deviations off the fit (`logs`)."""
    ends = np.cumsum([len(counts.gammas) for counts in counted]) - 1
    return tuple(
        f"{counts.length:.3g} tokens per call at gamma {counts.gamma} do not fit the other counts, "
        f"which give {np.exp(logs[end]):.3g}: were they counted on the same requests?"
        for counts, end in zip(counted, ends, strict=True)
        if abs(off[end]) > _CONTRADICTS
    )


def rising(lengths: Mapping[int, float]) -> tuple[str, ...]:
    """Returns a warning for each mean length that is too large for the lengths at smaller γ.

    lengths: mean tokens per block by γ. If all were counted on the same requests, position k adds
    P(positions 1 to k are accepted) tokens to a block, which falls with k.
    """
    points = [(0, 1.0), *sorted(lengths.items())]
    sentences = []
    for (first, least), (gamma, length), (last, most) in zip(
        points, points[1:], points[2:], strict=False
    ):
        early, late = (length - least) / (gamma - first), (most - length) / (last - gamma)
        if late <= 0:
            fits = most >= length - _ROUNDED
        elif late < early:
            accepted = (late / early) ** (2 / (last - first))
            alpha = float(alpha_from_block_efficiency(length, gamma))
            fits = np.diff(logits_of(np.array([alpha, accepted])))[0] < _MOST_RISE
        else:
            fits = late <= early + _ROUNDED
        if not fits:
            sentences.append(
                f"{most:g} tokens per call at gamma {last} do not fit the {length:g} at gamma "
                f"{gamma}: a position adds {late:.2f} tokens there, and {early:.2f} before. Were "
                "they counted on the same requests? Each is taken as some per cent off."
            )
    return tuple(sentences)
