"""The cost of an engine's step as a function of γ: a line, or a curve with one corner.

An engine reports the time of its steps, but not the share of drafting. So a line

    s(γ) = s₀ + k γ

is drawn through the smallest and the largest γ. The slope k takes the place of the draft step in
other cost models, and includes the verification of one more token. If the line misses a third γ
between them by more than LINE_TOLERANCE, that point becomes a corner.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.cost.curves import CostModel

LINE_TOLERANCE = 0.02
# Least share of a step that is not drafting.
LEAST_PASS = 0.01


@dataclass(frozen=True, slots=True)
class Steps:
    """Step times of an engine at one temperature and concurrency.

    baseline_seconds: time of a token without speculation.
    seconds: time of a step, by γ in ascending order; at least one.
    """

    baseline_seconds: float
    seconds: Mapping[int, float]

    @property
    def line_error(self) -> float | None:
        """Relative error of the line through the outer γ at the third; None without a third."""
        if len(self.seconds) < 3:
            return None
        low, between, *_, high = self.seconds
        share = (between - low) / (high - low)
        line = self.seconds[low] + share * (self.seconds[high] - self.seconds[low])
        return line / self.seconds[between] - 1

    @property
    def is_line(self) -> bool:
        """Whether the line fits, or no third γ tests it."""
        error = self.line_error
        return error is None or abs(error) <= LINE_TOLERANCE

    @property
    def slope(self) -> float:
        """Seconds that each drafted token adds, verification included; at least 0.

        With a single γ, the line begins at the baseline's step.
        """
        gammas = list(self.seconds)
        low, high = (0, gammas[0]) if len(gammas) == 1 else (gammas[0], gammas[-1])
        start = self.baseline_seconds if low == 0 else self.seconds[low]
        return max(0.0, (self.seconds[high] - start) / (high - low))

    @property
    def c(self) -> float:
        """`slope` relative to the time of a baseline token."""
        return self.slope / self.baseline_seconds

    @property
    def cost(self) -> CostModel:
        """The cost model in which γ slopes are the draft, and the rest of a step the target pass.

        The slope is reduced where it would leave less than LEAST_PASS of a step for the pass.
        """
        gammas = list(self.seconds)
        kept = [gammas[0], gammas[-1]] if self.is_line else gammas
        most = min(self.seconds[gamma] / gamma for gamma in kept)
        draft = min(self.slope, (1 - LEAST_PASS) * most)
        passes = {gamma + 1: self.seconds[gamma] - gamma * draft for gamma in kept}
        return CostModel(target_seconds={1: self.baseline_seconds, **passes}, draft_seconds=draft)
