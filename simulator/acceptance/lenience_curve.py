"""Acceptance under a lenience at which nothing was measured, from those at which it was."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def interpolated_alpha(alpha_by_lenience: Mapping[float, float], *, lenience: float) -> float:
    """Returns α(l) between the leniences at which it was measured.

        α(l) = E[Σ min(p/l, q)]               (Leviathan et al. 2023, A.5)

    Linear in 1/l between its two neighbours; as α(l) is concave in 1/l, never too high.

    Args:
      alpha_by_lenience: measured α(l) by l, at least one.
      lenience: l, between the smallest and the largest of these.

    Raises:
      ValueError: if l lies outside, or nothing was measured.
    """
    if not alpha_by_lenience:
        raise ValueError("alpha_by_lenience must have at least one lenience, got none")
    least, most = min(alpha_by_lenience), max(alpha_by_lenience)
    if not least <= lenience <= most:
        raise ValueError(
            f"lenience must lie in [{least:g}, {most:g}], where alpha was measured, got {lenience}"
        )
    inverse = np.array(sorted(1 / measured for measured in alpha_by_lenience))
    alphas = [alpha_by_lenience[measured] for measured in sorted(alpha_by_lenience, reverse=True)]
    return float(np.interp(1 / lenience, inverse, alphas))
