"""Gamma policies as a user names them."""

from __future__ import annotations

from reference.policies import Fixed, Policy


def fixed_policies(gammas: tuple[int, ...]) -> dict[str, Policy]:
    """Returns a fixed policy for each gamma, by arm name.

    Raises:
      ValueError: if a gamma is below 1.
    """
    for gamma in gammas:
        if gamma < 1:
            raise ValueError(f"gamma must be at least 1, got {gamma}")
    return {f"gamma {gamma}": Fixed(gamma) for gamma in gammas}
