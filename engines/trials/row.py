"""One line of a validation on an engine: a temperature, a concurrency, a γ."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from engines.counting.rates import Rate


@dataclass(frozen=True, slots=True)
class Row:
    """What was predicted of an engine, and what came of it.

    draft_temperature: 0 where drafts are argmax, else the target's.
    alpha: the mean of a_t along the texts that stand for the target's own.
    c: what one more drafted token adds to a step, over a step of the target alone.
    acceptance_predicted, acceptance_counted: unconditional, by position.
    acceptance_explained: whether the models' laws explain the counts; audit: where not, a sentence.
    predicted_from: `replay` of the run's own texts, or `counts` where acceptance is unexplained
      or feigned.
    predicted_theorem8, predicted_calibrated, measured: speed-ups of decoding.
    predicted_seconds_per_token, seconds_per_token: of one stream.
    predicted_target_calls: by replay; None where it would be of other texts. target_calls: counted,
      those over the prompts not.
    """

    engine: str
    engine_version: str
    draft: str
    temperature: float
    draft_temperature: float
    policy: str
    gamma: int
    concurrency: int
    alpha: float
    c: float
    acceptance_predicted: tuple[Rate, ...]
    acceptance_counted: tuple[Rate, ...]
    acceptance_explained: bool
    audit: str
    predicted_from: str
    predicted_theorem8: float
    predicted_calibrated: float
    measured: float
    measured_low: float | None
    measured_high: float | None
    predicted_seconds_per_token: float
    seconds_per_token: float
    predicted_target_calls: float | None
    target_calls: int
    block_efficiency: float
    accepted_fraction: float
    tokens: int
    identical_to_target: bool | None
    baseline_tokens_per_second: float
    tokens_per_second: float

    @property
    def error_percent(self) -> float:
        """100 (predicted_calibrated - measured) / measured."""
        return 100 * (self.predicted_calibrated / self.measured - 1)

    @property
    def time_error_percent(self) -> float:
        """100 (predicted - measured) / measured, of the time of a token."""
        return 100 * (self.predicted_seconds_per_token / self.seconds_per_token - 1)

    def data(self) -> dict[str, Any]:
        """Returns the row as JSON takes it."""
        return {
            **asdict(self),
            "error_percent": self.error_percent,
            "time_error_percent": self.time_error_percent,
        }
