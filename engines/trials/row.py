"""One row of a validation on an engine: one temperature, concurrency and γ."""

from typing import ClassVar

from engines.counting import RateInterval
from estimator.validation.row import ValidationRow


class EngineRow(ValidationRow, frozen=True, kw_only=True):
    """A prediction for an engine and its measurement; speed-ups exclude the prompts.

    draft_temperature: 0 for argmax drafts, else the target's temperature.
    alpha: mean of a_t along the target's texts.
    c: time that one more drafted token adds to a step, relative to a baseline step.
    acceptance_predicted, acceptance_counted: unconditional rates by position.
    acceptance_explained: whether the models explain the counts; audit: the reason if not.
    predicted_from: "replay" of the run's own texts; "counts" if acceptance is simulated or not
      explained.
    predicted_theorem8: speed-up if verification were free and acceptance i.i.d.
    predicted_seconds_per_token: in one stream.
    predicted_target_calls: target passes by replay; None if the replayed texts are others.
    target_calls: counted target passes, without those over prompts.
    """

    derived: ClassVar[tuple[str, ...]] = (
        "error_percent", "time_error_percent", "predicted_calibrated", "seconds_per_token",
    )  # fmt: skip

    gamma: int
    alpha: float
    predicted: float
    ms_per_token: float
    tokens_per_second: float
    engine: str
    engine_version: str
    concurrency: int
    c: float
    acceptance_predicted: tuple[RateInterval, ...]
    acceptance_counted: tuple[RateInterval, ...]
    acceptance_explained: bool
    audit: str
    predicted_from: str
    predicted_theorem8: float
    predicted_seconds_per_token: float
    predicted_target_calls: float | None
    target_calls: int
    block_efficiency: float
    accepted_fraction: float
    identical_to_target: bool | None
    baseline_tokens_per_second: float

    @property
    def predicted_calibrated(self) -> float:
        """`predicted`, by its name in validations of specplan's own decoder."""
        return self.predicted

    @property
    def seconds_per_token(self) -> float:
        """Measured seconds per token in one stream."""
        return self.ms_per_token / 1e3

    @property
    def time_error_percent(self) -> float:
        """Relative error of the predicted time of a token, in per cent."""
        return 100 * (self.predicted_seconds_per_token / self.seconds_per_token - 1)
