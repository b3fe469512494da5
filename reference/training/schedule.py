"""How many steps a training takes, and how fast it learns at each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """A linear warm-up, a plateau, then a linear fall to 0.

    steps: at least 0.
    peak: the plateau's learning rate, above 0.
    warmup: steps of the warm-up, at least 1.
    decay: the share of the steps, the last ones, over which the rate falls, in [0, 1]; 0: never.

    Raises:
      ValueError: if one is out of range.
    """

    steps: int
    peak: float
    warmup: int = 100
    decay: float = 1.0

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise ValueError(f"steps must be at least 0, got {self.steps}")
        if not 0 < self.peak < float("inf"):
            raise ValueError(f"peak must be finite and above 0, got {self.peak}")
        if self.warmup < 1:
            raise ValueError(f"warmup must be at least 1, got {self.warmup}")
        if not 0 <= self.decay <= 1:
            raise ValueError(f"decay must lie in [0, 1], got {self.decay}")

    def rate(self, step: int) -> float:
        """Returns the learning rate of a step, counted from 0."""
        rate = self.peak * min(1.0, (step + 1) / self.warmup)
        if self.decay == 0:
            return rate
        return rate * min(1.0, (self.steps - step) / (self.decay * self.steps))
