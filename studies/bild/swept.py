"""Rows of a BiLD sweep, the errors of their predictions, and the best rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from estimator.validation.row import ValidationRow, mean_abs
from simulator.cost.cost import Cost

# Names of decoders.
LARGE, SMALL, BILD, WINDOW = "large", "small", "bild", "window"


class BildRow(ValidationRow, frozen=True, kw_only=True):
    """Measurement and prediction of one decoder.

    decoder: "large" or "small" (without the other model), "bild", "window" (BiLD without its
      fallback), "strict" or "lenient" (speculative decoding).
    fallback, rollback: BiLD's thresholds; rollback is None if infinite.
    most: most tokens that the small model writes in a row; gamma of strict and lenient.
    measured, measured_low, measured_high: speed-up over the large model, with its 95 % interval
      over prompts.
    predicted: speed-up from each model's own texts and costs of other runs; for BiLD at
      temperature 0.
    predicted_seconds: predicted seconds per token.
    predicted_large_calls, predicted_small_calls: predicted calls for the emitted tokens.
    large_calls, small_calls: forward passes, without the prompts'.
    rollbacks: number of large calls that replaced a drafted token.
    discarded: number of drafted tokens that were not emitted.
    draft_seconds, verify_seconds, other_seconds: in the small model, in the large model, elsewhere.
    pareto: whether no other row is both faster and better by the main metric.
    """

    derived: ClassVar[tuple[str, ...]] = (
        "error_percent", "time_error_percent", "fallback_percent", "rollback_percent", "seconds",
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
        """Measured seconds per token."""
        return self.ms_per_token / 1e3

    @property
    def time_error_percent(self) -> float | None:
        """100 (predicted - measured) / measured, for the time per token."""
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


# Points of the metric that each kind of loss may lose; "no loss" as in the paper's tables (Kim et
# al. 2023, Table 1).
NO_LOSS = 0.1
LOSSES = {"no_loss": NO_LOSS, "one_point": 1.0}
COMPARED = (BILD, WINDOW, "strict", "lenient")


@dataclass(frozen=True, slots=True)
class Sweep:
    """A finished sweep.

    rows: one row per decoder; the large model's first.
    metric: the metric of the Pareto front.
    precision_percent: largest error of a speed-up due to the clock; None for a single prompt.
    repeats: smallest number of times that a run was timed.
    """

    rows: tuple[BildRow, ...]
    metric: str
    cost: Cost
    noise_percent: float
    precision_percent: float | None = None
    repeats: int = 1

    def fastest(self, decoder: str, *, loss: float) -> BildRow | None:
        """Returns the decoder's fastest row that loses at most `loss` points of the metric."""
        least = self.rows[0].quality[self.metric] - loss
        able = [
            row
            for row in self.rows
            if row.decoder == decoder and row.quality[self.metric] >= least and not row.doubts
        ]
        return max(able, key=lambda row: row.measured, default=None)

    @property
    def summary(self) -> SweepSummary:
        """The summary of all rows."""

        def mean_error(name: str, *decoders: str) -> float | None:
            return mean_abs(getattr(row, name) for row in self.rows if row.decoder in decoders)

        speed, time = "error_percent", "time_error_percent"
        return SweepSummary(
            draft=self.rows[0].draft,
            temperature=self.rows[0].temperature,
            metric=self.metric,
            mean_abs_error_percent=mean_error(speed, BILD, WINDOW),
            bild_mean_abs_error_percent=mean_error(speed, BILD),
            window_mean_abs_error_percent=mean_error(speed, WINDOW),
            mean_abs_time_error_percent=mean_error(time, BILD, WINDOW),
            bild_mean_abs_time_error_percent=mean_error(time, BILD),
            window_mean_abs_time_error_percent=mean_error(time, WINDOW),
            noise_percent=self.noise_percent,
            c=self.cost.c,
            best={
                f"{decoder}_{name}": self.fastest(decoder, loss=loss)
                for decoder in COMPARED
                for name, loss in LOSSES.items()
            },
        )


@dataclass(frozen=True, slots=True)
class SweepSummary:
    """Summary of one draft and temperature.

    mean_abs_error_percent: mean error of predicted speed-ups, over BiLD with and without its
      fallback; bild_ and window_: of each one; None if nothing was predicted.
    mean_abs_time_error_percent: mean error of predicted seconds per token.
    c: draft step over target step.
    best: by decoder and loss (`bild_no_loss`), the fastest row of each of COMPARED that keeps the
      quality; None if there is none.
    """

    draft: str
    temperature: float
    metric: str
    mean_abs_error_percent: float | None
    bild_mean_abs_error_percent: float | None
    window_mean_abs_error_percent: float | None
    mean_abs_time_error_percent: float | None
    bild_mean_abs_time_error_percent: float | None
    window_mean_abs_time_error_percent: float | None
    noise_percent: float
    c: float
    best: Mapping[str, BildRow | None]

    def data(self) -> dict[str, Any]:
        """Returns the summary for JSON."""
        best = {name: None if row is None else row.data() for name, row in self.best.items()}
        return {**asdict(self), "best": best}
