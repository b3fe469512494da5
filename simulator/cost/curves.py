"""Costs of blocks from measured passes of target and draft: of drafted chains, and of beams."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import Cost
from simulator.numerics.arguments import Floats, integer, integers, non_negative


@dataclass(frozen=True, slots=True)
class CostModel(Cost):
    """Cost in seconds: a block with γ drafted tokens takes t_d(γ) + t_p(γ+1) + t_o.

    target_seconds: t_p(n), time of a target pass over n new tokens with a warm cache, by n from 1
      (see `pass_seconds`). With only n = 1, verification is free.
    draft_seconds: t_q, time of one steady draft step with its sampling.
    overhead_seconds: t_o, remaining time of a block.
    baseline_overhead_seconds: t_b, time per baseline token in addition to the target's pass.
    draft_curve: t_d(γ), time to draft γ tokens, by γ, if a block's first draft step differs from
      later ones. t_d(0) = 0; t_d is linear between points, and after the last point rises by t_q
      per token. Without points it is γ·t_q.
    """

    target_seconds: Mapping[int, float]
    draft_seconds: float
    overhead_seconds: float = 0.0
    baseline_overhead_seconds: float = 0.0
    draft_curve: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        points = pass_points("target_seconds", self.target_seconds)
        for n, seconds in points.items():
            if seconds == 0:
                raise ValueError(f"target_seconds[{n}] must be above 0, got 0")
        object.__setattr__(self, "target_seconds", points)
        for name in ("draft_seconds", "overhead_seconds", "baseline_overhead_seconds"):
            object.__setattr__(self, name, float(non_negative(name, getattr(self, name))))
        drafts = _points("gamma in draft_curve", "draft_curve", self.draft_curve, at_least=0)
        object.__setattr__(self, "draft_curve", drafts)

    @property
    def c(self) -> float:
        """Time of a steady draft step over time of a target step (Leviathan et al. 2023, Def. 7).

        Steady steps exclude a block's first step, which reads two tokens if the previous draft was
        accepted whole.
        """
        return self.draft_seconds / self.target_seconds[1]

    @property
    def verification_free(self) -> bool:
        return len(self.target_seconds) == 1

    @property
    def step_seconds(self) -> float:
        return self.target_seconds[1]

    @property
    def baseline_seconds(self) -> float:
        return self.step_seconds + self.baseline_overhead_seconds

    @property
    def observed_gamma(self) -> int | None:
        return None if self.verification_free else max(self.target_seconds) - 1

    @property
    def theorem8(self) -> bool:
        overheads = (self.overhead_seconds, self.baseline_overhead_seconds)
        return self.verification_free and overheads == (0, 0)

    def verify_seconds(self, n: ArrayLike) -> Floats:
        """Returns t_p(n), the time of a target pass over n new tokens; n at least 1."""
        return pass_seconds(self.target_seconds, n)

    def drafting_seconds(self, gamma: ArrayLike) -> Floats:
        length = integers("gamma", gamma)
        curve = {0: 0.0, **self.draft_curve}
        beyond = np.maximum(length - max(curve), 0) * self.draft_seconds
        return np.asarray(np.interp(length, list(curve), list(curve.values())) + beyond)[()]

    def checking_seconds(self, gamma: ArrayLike) -> Floats:
        verify = self.verify_seconds(integers("gamma", gamma) + 1)
        return np.asarray(verify + self.overhead_seconds)[()]


def pass_points(name: str, points: Mapping[int, float]) -> dict[int, float]:
    """Returns the checked times of passes over n new tokens, by ascending n; n = 1 is required."""
    seconds = _points(f"n in {name}", name, points, at_least=1)
    if 1 not in seconds:
        raise ValueError(f"{name} must have the point 1, got {list(seconds)}")
    return seconds


def _points(
    places: str, name: str, points: Mapping[int, float], *, at_least: int
) -> dict[int, float]:
    by_tokens = {
        integer(places, n, at_least=at_least): float(non_negative(f"{name}[{n}]", seconds))
        for n, seconds in points.items()
    }
    return dict(sorted(by_tokens.items()))


def pass_seconds(points: Mapping[int, float], n: ArrayLike) -> Floats:
    """Returns the time of a pass over n new tokens, linear between the points of `pass_points`.

    After the last point the last segment continues, or the curve stays flat if that segment falls.
    """
    width = integers("n", n, at_least=1)
    places, seconds = np.array(list(points), dtype=np.float64), np.array(list(points.values()))
    slope = np.diff(seconds[-2:]) / np.diff(places[-2:]) if len(places) > 1 else np.zeros(1)
    beyond = np.maximum(width - places[-1], 0) * np.maximum(slope[0], 0)
    return np.asarray(np.interp(width, places, seconds) + beyond)[()]


@dataclass(frozen=True, slots=True)
class BeamCost(Cost):
    """Cost of speculative beam search (Leviathan et al. 2023, appendix A.4).

        a block of γ drafted steps:  t_q(w) + (γ-1) t_q(u) + t_p(w + uγ)
        a baseline step:             t_p(w)

    The draft searches γ steps ahead with u beams, and one target call over w + uγ tokens checks
    them. A step is accepted if top_w(M_p) ⊆ top_u(M_q), with probability r if earlier steps were
    accepted. So the acceptance is `Iid(r)`, and Eq. 1 with α = r gives the steps per call.

    width, draft_width: w at least 1, and u at least w.
    target_seconds, draft_seconds: t_p(n) and t_q(n), seconds of a pass over n tokens, by n.
    """

    width: int
    draft_width: int
    target_seconds: Mapping[int, float]
    draft_seconds: Mapping[int, float]

    def __post_init__(self) -> None:
        if integer("draft_width", self.draft_width) < integer("width", self.width, at_least=1):
            raise ValueError(
                f"draft_width must be at least width, {self.width}, got {self.draft_width}"
            )
        for name in ("target_seconds", "draft_seconds"):
            object.__setattr__(self, name, pass_points(name, getattr(self, name)))

    def budget(self, gamma: ArrayLike) -> NDArray[np.int64]:
        """Returns the number of tokens that a target call reads, w + uγ (A.4)."""
        return np.asarray(self.width + self.draft_width * integers("gamma", gamma))[()]

    @property
    def baseline_seconds(self) -> float:
        return float(pass_seconds(self.target_seconds, self.width))

    @property
    def c(self) -> float:
        return float(pass_seconds(self.draft_seconds, self.draft_width)) / self.step_seconds

    def drafting_seconds(self, gamma: ArrayLike) -> Floats:
        steps = integers("gamma", gamma)
        first, later = pass_seconds(self.draft_seconds, [self.width, self.draft_width])
        return np.where(steps == 0, 0.0, first + (steps - 1) * later)[()]

    def checking_seconds(self, gamma: ArrayLike) -> Floats:
        return pass_seconds(self.target_seconds, self.budget(gamma))
