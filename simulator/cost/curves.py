"""What blocks cost in seconds: a measured curve of verification in place of a free one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.conversions import alpha_from_block_efficiency
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.optimum import TIE
from simulator.numerics.arguments import integer, integers, non_negative, probability


@dataclass(frozen=True, slots=True)
class CostModel:
    """Seconds of every part of decoding, of which Theorem 8 of Leviathan et al. 2023 is a case.

        improvement(γ) = E[τ(γ)] · (t_p(1) + t_b) / (t_d(γ) + t_p(γ+1) + t_o)

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

    @classmethod
    def theorem8(cls, c: float) -> CostModel:
        """Returns the cost model of Theorem 8: verification free, one target step the unit of time.

        Args:
          c: time of one draft step over time of one target step, at least 0.
        """
        return cls(target_seconds={1: 1.0}, draft_seconds=float(non_negative("c", c)))

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
    def baseline_tokens_per_second(self) -> float:
        """Tokens per second of the target alone."""
        return 1 / self.baseline_seconds

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

    def block_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns the time of one block, t_d(γ) + t_p(γ+1) + t_o.

        Args:
          gamma: drafted tokens, at least 0, shape (...). A block that drafts none still pays the
            overhead; to decode with the target alone costs baseline_seconds instead.
        """
        length = integers("gamma", gamma)
        verify = self.verify_seconds(length + 1)
        return np.asarray(self.drafting_seconds(length) + verify + self.overhead_seconds)[()]

    def improvement_factor(self, alpha: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns the expected speed-up over the target alone; 1 at γ = 0: do not speculate.

        Args:
          alpha: acceptance rate in [0, 1], shape (...).
          gamma: drafted tokens per block, at least 0; broadcasts with alpha.

        Raises:
          ValueError: if an argument is out of range or not a number.
        """
        return self.tokens_per_second(alpha, gamma) * self.baseline_seconds

    def tokens_per_second(self, alpha: ArrayLike, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns E[τ(γ)] over the time of a block; at γ = 0 that of the target alone."""
        length = integers("gamma", gamma)
        seconds = np.where(length == 0, self.baseline_seconds, self.block_seconds(length))
        return expected_tokens(alpha, length) / seconds

    def optimal_gamma(self, alpha: ArrayLike, *, max_gamma: int) -> NDArray[np.int64]:
        """Returns the smallest γ that maximises the improvement; 0: do not speculate.

        A scan, since a measured curve may have any shape.

        Args:
          alpha: acceptance rate in [0, 1], shape (...).
          max_gamma: the largest γ considered, at least 1.

        Raises:
          ValueError: if an argument is out of range or not a number.
        """
        rate = probability("alpha", alpha)
        best = np.zeros(rate.shape, dtype=np.int64)
        factor = np.ones(rate.shape)
        for gamma in range(1, integer("max_gamma", max_gamma, at_least=1) + 1):
            longer = self.improvement_factor(rate, gamma)
            better = longer > factor * (1 + TIE)
            best = np.where(better, gamma, best)
            factor = np.where(better, longer, factor)
        return best[()]

    def break_even_alpha(self, *, max_gamma: int) -> float:
        """Returns the acceptance rate above which some γ up to max_gamma gains.

        A block of γ gains when E[τ] exceeds its cost in baseline tokens, and E[τ] rises with α from
        1 to γ + 1.

        Args:
          max_gamma: the largest γ considered, at least 1.

        Returns:
          in [0, 1], and at this rate and below none gains, with one exception: at 0 every α above 0
          gains, and 0 does, too, if some block costs less than a token of the target alone (whose
          overhead it then spares). 1: a perfect draft breaks even at best. NaN: not even that.

        Raises:
          ValueError: if max_gamma is out of range.
        """
        gamma = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)
        needed = np.maximum(self.block_seconds(gamma) / self.baseline_seconds, 1.0)
        possible = needed <= gamma + 1
        if not possible.any():
            return float("nan")
        return float(alpha_from_block_efficiency(needed[possible], gamma[possible]).min())

    def break_even_c(self, alpha: ArrayLike, *, max_gamma: int) -> NDArray[np.float64]:
        """Returns the c from which on no γ up to max_gamma gains, all else being as it is.

        So is what drafting takes beside γ steady steps, the first step being another.

        Args:
          alpha: acceptance rate in [0, 1], shape (...).
          max_gamma: the largest γ considered, at least 1.

        Returns:
          shape (...), at least 0; below it some γ gains. 0: a draft that costs nothing breaks even
          at best. NaN: even that one loses.

        Raises:
          ValueError: if an argument is out of range or not a number.
        """
        rate = probability("alpha", alpha)[..., np.newaxis]
        gamma = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 1)
        beside_steps = self.drafting_seconds(gamma) - gamma * self.draft_seconds
        others = self.verify_seconds(gamma + 1) + self.overhead_seconds + beside_steps
        spare = expected_tokens(rate, gamma) * self.baseline_seconds - others
        c = (spare / gamma).max(axis=-1) / self.target_seconds[1]
        return np.where(c >= 0, c, np.nan)[()]


def _positive_seconds(n: int, seconds: float) -> float:
    value = float(non_negative(f"target_seconds[{n}]", seconds))
    if value == 0:
        raise ValueError(f"target_seconds[{n}] must be above 0, got 0")
    return value
