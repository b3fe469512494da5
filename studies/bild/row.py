"""One line of a BiLD sweep: a way to decode, how good its texts are and how fast it is."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BildRow:
    """What came of one way to decode, and what was predicted of it.

    decoder: "large" (alone), "small" (alone), "bild", "window" (BiLD without its fallback),
      "strict" or "lenient".
    fallback, rollback: BiLD's thresholds; rollback is None without one (infinite).
    most: the most tokens that the small model writes in a row; gamma of strict and lenient.
    quality: by metric.
    speedup, _low, _high: the large model's seconds per token over this one's, with
      its 95 % interval over prompts.
    predicted: the speed-up from texts of the two models alone and costs of other runs; BiLD's, at
      temperature 0.
    seconds, predicted_seconds: per token.
    predicted_large_calls, predicted_small_calls: for as many tokens as were emitted.
    large_calls, small_calls: forward passes, prompts apart.
    fallback_percent: large calls, rollback_percent: those that replaced a drafted token, both over
      emitted tokens (Kim et al. 2023, Table 4).
    discarded: drafted tokens that were not emitted.
    tokens: emitted.
    draft_seconds, verify_seconds, other_seconds: in the small model, the large one, outside both.
    pareto: whether no row is both faster and better by the main metric.
    """

    decoder: str
    fallback: float | None
    rollback: float | None
    most: int | None
    quality: Mapping[str, float]
    speedup: float
    speedup_low: float | None
    speedup_high: float | None
    predicted: float | None
    seconds: float
    predicted_seconds: float | None
    predicted_large_calls: float | None
    predicted_small_calls: float | None
    large_calls: int
    small_calls: int
    rollbacks: int
    discarded: int
    tokens: int
    draft_seconds: float
    verify_seconds: float
    other_seconds: float
    pareto: bool = False

    @property
    def error_percent(self) -> float | None:
        """How far the predicted seconds per token are off those measured."""
        if self.predicted_seconds is None:
            return None
        return 100 * (self.predicted_seconds / self.seconds - 1)

    @property
    def fallback_percent(self) -> float:
        return 100 * self.large_calls / self.tokens

    @property
    def rollback_percent(self) -> float:
        return 100 * self.rollbacks / self.tokens
