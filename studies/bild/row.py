"""One line of a BiLD sweep: a way to decode, how good its texts are and how fast it is."""

from collections.abc import Mapping
from typing import ClassVar

from estimator.validation.row import ValidationRow


class BildRow(ValidationRow, frozen=True, kw_only=True):
    """What came of one way to decode, and what was predicted of it.

    decoder: "large" (alone), "small" (alone), "bild", "window" (BiLD without its fallback),
      "strict" or "lenient".
    fallback, rollback: BiLD's thresholds; rollback is None without one (infinite).
    most: the most tokens that the small model writes in a row; gamma of strict and lenient.
    quality: by metric.
    measured, _low, _high: the large model's seconds per token over this one's, with its 95 %
      interval over prompts.
    predicted: the speed-up from texts of the two models alone and costs of other runs; BiLD's, at
      temperature 0. predicted_seconds: per token.
    predicted_large_calls, predicted_small_calls: for as many tokens as were emitted.
    large_calls, small_calls: forward passes, prompts apart.
    rollbacks: large calls that replaced a drafted token.
    discarded: drafted tokens that were not emitted.
    draft_seconds, verify_seconds, other_seconds: in the small model, the large one, outside both.
    pareto: whether no row is both faster and better by the main metric.
    """

    derived: ClassVar[tuple[str, ...]] = (
        "error_percent", "time_error_percent", "fallback_percent", "rollback_percent", "speedup",
        "speedup_low", "speedup_high", "seconds",
    )  # fmt: skip

    decoder: str
    ms_per_token: float
    draft_seconds: float
    verify_seconds: float
    other_seconds: float
    quality: Mapping[str, float]
    large_calls: int
    small_calls: int
    rollbacks: int
    discarded: int
    fallback: float | None = None
    rollback: float | None = None
    most: int | None = None
    predicted_seconds: float | None = None
    predicted_large_calls: float | None = None
    predicted_small_calls: float | None = None
    pareto: bool = False

    @property
    def seconds(self) -> float:
        """Per token."""
        return self.ms_per_token / 1e3

    @property
    def speedup(self) -> float:
        """The measured speed-up by the name that sweeps gave it first; so are its bounds."""
        return self.measured

    @property
    def speedup_low(self) -> float | None:
        return self.measured_low

    @property
    def speedup_high(self) -> float | None:
        return self.measured_high

    @property
    def time_error_percent(self) -> float | None:
        """100 (predicted - measured) / measured, of the time of a token."""
        if self.predicted_seconds is None:
            return None
        return 100 * (self.predicted_seconds / self.seconds - 1)

    @property
    def fallback_percent(self) -> float:
        """Large calls over emitted tokens (Kim et al. 2023, Table 4)."""
        return 100 * self.large_calls / self.tokens

    @property
    def rollback_percent(self) -> float:
        """Large calls that replaced a drafted token, over emitted tokens (Table 4)."""
        return 100 * self.rollbacks / self.tokens
