"""One line of a validation on an engine: a temperature, a concurrency, a γ."""

from typing import ClassVar

from engines.counting import RateInterval
from estimator.validation.row import ValidationRow


class EngineRow(ValidationRow, frozen=True, kw_only=True):
    """One prediction for an engine and its measurement; speed-ups are of decoding.

    draft_temperature: 0 where drafts are argmax, else the target's.
    alpha: the mean of a_t along the texts that represent the target's own.
    c: time that one more drafted token adds to a step, over a baseline step.
    acceptance_predicted, acceptance_counted: unconditional, by position.
    acceptance_explained: whether the models' laws explain the counts; audit: if not, the reason.
    predicted_from: `replay` of the run's own texts, or `counts` where acceptance is unexplained
      or simulated.
    predicted_theorem8: the speed-up if verifying were free and acceptances i.i.d.
    predicted_seconds_per_token: in one stream.
    predicted_target_calls: by replay; None where it would be of other texts. target_calls: counted,
      those over the prompts not.
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
        """The prediction, by its name in validations of specplan's own decoder."""
        return self.predicted

    @property
    def seconds_per_token(self) -> float:
        """Measured seconds a token in one stream."""
        return self.ms_per_token / 1e3

    @property
    def time_error_percent(self) -> float:
        """100 (predicted - measured) / measured, of the time of a token."""
        return 100 * (self.predicted_seconds_per_token / self.seconds_per_token - 1)
