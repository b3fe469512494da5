"""Checks mean lengths at several γ: each further position must add fewer tokens."""

from collections.abc import Mapping

import numpy as np

from simulator.acceptance.conversions import alpha_from_block_efficiency
from simulator.acceptance.logit_fit import logits_of

# Rounding to two decimals moves a difference of lengths by up to this many tokens.
_ROUNDED = 0.01
# Logits by which later positions may be accepted more often than the first ones; drafts that others
# published reach 1.8 (`specplan plan --typical list`).
_MOST_RISE = 3.0


def rising(lengths: Mapping[int, float]) -> tuple[str, ...]:
    """Returns a warning for each mean length that is too large for the lengths at smaller γ.

    Position k adds P(positions 1 to k are accepted) tokens per block, which falls with k, if all
    lengths were counted on the same requests.

    lengths: tokens per target call by γ, the target's own token included.
    """
    points = [(0, 1.0), *sorted(lengths.items())]
    found = []
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
            found.append(
                f"{most:g} tokens per call at gamma {last} do not fit the {length:g} at gamma "
                f"{gamma}: a position adds {late:.2f} tokens there, and {early:.2f} before. Were "
                "they counted on the same requests? Each is taken as some per cent off."
            )
    return tuple(found)
