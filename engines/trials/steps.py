"""The cost of an engine's step as a function of γ: from two γ, and a third where it bends.

An engine reports how long its steps take, never how much of a step is drafting. So a line

    s(γ) = s₀ + k γ

is fitted through the smallest and the largest γ that were run, and a third γ between them shows
the error of the line. The slope k replaces the draft step of other cost models; it includes the
verification of one more token. Where the line misses the third by more than LINE_TOLERANCE, that
point becomes a corner.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.cost.curves import CostModel

LINE_TOLERANCE = 0.02
# Least share of a step that is not drafting.
LEAST_PASS = 0.01


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of an engine at one temperature and concurrency.

    baseline_seconds: a token's time without speculation.
    seconds: a step's time by γ, ascending; at least one.
    """

    baseline_seconds: float
    seconds: Mapping[int, float]

    @property
    def line_error(self) -> float | None:
        """Relative error of the line through the outer γ at the third; None without a third."""
        if len(self.seconds) < 3:
            return None
        between = list(self.seconds)[1]
        return self._line(between) / self.seconds[between] - 1

    @property
    def is_line(self) -> bool:
        """Whether a line fits the steps, as far as is known."""
        error = self.line_error
        return error is None or abs(error) <= LINE_TOLERANCE

    @property
    def slope(self) -> float:
        """Seconds that one more drafted token adds, verification included; at least 0.

        The slope between the smallest and the largest γ; with a single γ, from the baseline to it.
        """
        gammas = list(self.seconds)
        low, high = (0, gammas[0]) if len(gammas) == 1 else (gammas[0], gammas[-1])
        start = self.baseline_seconds if low == 0 else self.seconds[low]
        return max(0.0, (self.seconds[high] - start) / (high - low))

    @property
    def c(self) -> float:
        """Time that one more drafted token adds, over the time of a baseline token."""
        return self.slope / self.baseline_seconds

    def _line(self, gamma: int) -> float:
        gammas = list(self.seconds)
        low, high = gammas[0], gammas[-1]
        share = (gamma - low) / (high - low)
        return self.seconds[low] + share * (self.seconds[high] - self.seconds[low])

    @property
    def cost(self) -> CostModel:
        """The cost: γ slopes are the draft; the rest of a block is the target's pass over γ + 1.

        A pass takes some time, so the slope is lower here if steps grow faster than γ.
        """
        gammas = list(self.seconds)
        kept = [gammas[0], gammas[-1]] if self.is_line else gammas
        most = min(self.seconds[gamma] / gamma for gamma in kept)
        draft = min(self.slope, (1 - LEAST_PASS) * most)
        beside = {gamma + 1: self.seconds[gamma] - gamma * draft for gamma in kept}
        return CostModel(target_seconds={1: self.baseline_seconds, **beside}, draft_seconds=draft)
