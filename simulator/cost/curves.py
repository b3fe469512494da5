"""What blocks cost in seconds: a measured curve of verification in place of a free one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import Cost
from simulator.numerics.arguments import integer, integers, non_negative


@dataclass(frozen=True, slots=True)
class CostModel(Cost):
    """Seconds of every part of decoding: a block of γ takes t_d(γ) + t_p(γ+1) + t_o.

    The curve t_p is linear between the given points and goes on as its last segment does, or
    stays flat where that one falls (a time that shrinks towards 0 would be noise extended); with
    the point n = 1 alone it is flat, verification free. The curve t_d is linear between its points
    and 0, and goes on by a steady step t_q for each further token; with no point it is γ·t_q.

    target_seconds: t_p(n), a target pass over n new tokens with a warm cache, by n; 1 is required.
    draft_seconds: t_q, one steady draft step with its sampling.
    overhead_seconds: t_o, everything else in a block.
    baseline_overhead_seconds: t_b, what the target alone spends beside its pass on each token.
    draft_curve: t_d(γ), drafting γ tokens, by γ: the first step need not cost what later ones do.
      Without the point 0, to draft nothing takes nothing.
    """

    target_seconds: Mapping[int, float]
    draft_seconds: float
    overhead_seconds: float = 0.0
    baseline_overhead_seconds: float = 0.0
    draft_curve: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        points = {
            integer("n in target_seconds", n, at_least=1): _positive_seconds(n, seconds)
            for n, seconds in self.target_seconds.items()
        }
        if 1 not in points:
            raise ValueError(f"target_seconds must have the point 1, got {sorted(points)}")
        object.__setattr__(self, "target_seconds", dict(sorted(points.items())))
        for name in ("draft_seconds", "overhead_seconds", "baseline_overhead_seconds"):
            object.__setattr__(self, name, float(non_negative(name, getattr(self, name))))
        drafts = {
            integer("gamma in draft_curve", gamma): float(
                non_negative(f"draft_curve[{gamma}]", seconds)
            )
            for gamma, seconds in self.draft_curve.items()
        }
        object.__setattr__(self, "draft_curve", dict(sorted(drafts.items())))

    @property
    def c(self) -> float:
        """Time of one steady draft step over time of one target step.

        The c of Leviathan et al. 2023, Def. 7. A block's first step may cost more or less: it comes
        after a pass of the target, and reads two tokens where the last draft was accepted whole.
        """
        return self.draft_seconds / self.target_seconds[1]

    @property
    def verification_free(self) -> bool:
        """Whether n = 1 is the only point: a pass over any number of tokens then costs t_p(1)."""
        return len(self.target_seconds) == 1

    @property
    def baseline_seconds(self) -> float:
        """Seconds per token of the target alone: t_p(1) + t_b."""
        return self.target_seconds[1] + self.baseline_overhead_seconds

    @property
    def step_seconds(self) -> float:
        """t_p(1)."""
        return self.target_seconds[1]

    @property
    def in_seconds(self) -> bool:
        return True

    @property
    def observed_gamma(self) -> int | None:
        return None if self.verification_free else max(self.target_seconds) - 1

    @property
    def theorem8(self) -> bool:
        """Whether verification is free and nothing else has a price."""
        overheads = (self.overhead_seconds, self.baseline_overhead_seconds)
        return self.verification_free and overheads == (0, 0)

    def verify_seconds(self, n: ArrayLike) -> NDArray[np.float64]:
        """Returns t_p(n), the time of a target pass over n new tokens.

        Args:
          n: at least 1, shape (...).
        """
        width = integers("n", n, at_least=1)
        points = np.array(list(self.target_seconds), dtype=np.float64)
        seconds = np.array(list(self.target_seconds.values()))
        slope = np.diff(seconds[-2:]) / np.diff(points[-2:]) if len(points) > 1 else np.zeros(1)
        beyond = np.maximum(width - points[-1], 0) * np.maximum(slope[0], 0)
        return np.asarray(np.interp(width, points, seconds) + beyond)[()]

    def drafting_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns t_d(γ), the time of drafting γ tokens.

        Args:
          gamma: at least 0, shape (...).
        """
        length = integers("gamma", gamma)
        curve = {0: 0.0, **self.draft_curve}
        beyond = np.maximum(length - max(curve), 0) * self.draft_seconds
        return np.asarray(np.interp(length, list(curve), list(curve.values())) + beyond)[()]

    def checking_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns t_p(γ+1) + t_o; gamma at least 0, shape (...)."""
        verify = self.verify_seconds(integers("gamma", gamma) + 1)
        return np.asarray(verify + self.overhead_seconds)[()]


def _positive_seconds(n: int, seconds: float) -> float:
    value = float(non_negative(f"target_seconds[{n}]", seconds))
    if value == 0:
        raise ValueError(f"target_seconds[{n}] must be above 0, got 0")
    return value
