"""Rows of a BiLD sweep, how well they were predicted, and the best of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from estimator.validation.row import ValidationRow, mean_abs
from simulator.cost.cost import Cost

# What a row's decoder is.
LARGE, SMALL, BILD, WINDOW = "large", "small", "bild", "window"


class BildRow(ValidationRow, frozen=True, kw_only=True):
    """What came of one way to decode, and what was predicted of it.

    decoder: "large" (alone), "small" (alone), "bild", "window" (BiLD without its fallback),
      "strict" or "lenient".
    fallback, rollback: BiLD's thresholds; rollback is None without one (infinite).
    most: the most tokens that the small model writes in a row; gamma of strict and lenient.
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


# How much of its metric, in points, each kind of loss may lose; "no loss" as the paper's tables
# let it (Kim et al. 2023, Table 1).
NO_LOSS = 0.1
LOSSES = {"no_loss": NO_LOSS, "one_point": 1.0}
COMPARED = (BILD, WINDOW, "strict", "lenient")


@dataclass(frozen=True, slots=True)
class Sweep:
    """A finished sweep.

    rows: the large model alone first.
    metric: the main one, which the Pareto front is of.
    precision_percent: how far the clock lets speed-ups be off; None of a single prompt.
    repeats: how often each run was timed, at least.
    """

    rows: tuple[BildRow, ...]
    metric: str
    cost: Cost
    noise_percent: float
    precision_percent: float | None = None
    repeats: int = 1

    def fastest(self, decoder: str, *, loss: float) -> BildRow | None:
        """Returns the decoder's fastest row that loses at most so many points of the metric."""
        least = self.rows[0].quality[self.metric] - loss
        able = [
            row
            for row in self.rows
            if row.decoder == decoder and row.quality[self.metric] >= least and not row.doubts
        ]
        return max(able, key=lambda row: row.measured, default=None)

    @property
    def summary(self) -> SweepSummary:
        """What all rows come to."""

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
    """Of one draft and temperature.

    mean_abs_error_percent: of the predicted speed-ups, of BiLD with and without its fallback, and
      of each; None where nothing was predicted. mean_abs_time_error_percent: of seconds per token.
    c: draft step over target step.
    best: the fastest row of each of COMPARED that keeps the quality, by decoder and loss
      (`bild_no_loss`); None where there is none.
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
        """Returns the summary as JSON has it."""
        best = {name: None if row is None else row.data() for name, row in self.best.items()}
        return {**asdict(self), "best": best}
