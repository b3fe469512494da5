"""Rows of a BiLD sweep, their best ones, and the mean errors of their predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from estimator.validation.file import ValidationRow, mean_abs

# Names of decoders.
LARGE, SMALL, BILD, WINDOW = "large", "small", "bild", "window"


class BildRow(ValidationRow, frozen=True, kw_only=True):
    """Measurements and predictions of one decoder in a sweep.

    decoder: "large" or "small" (one model without the other), "bild", "window" (BiLD without its
      fallback), "strict" or "lenient" (speculative decoding).
    quality: each metric's value, by name.
    fallback, rollback: thresholds of BiLD: the certainty below which the small model stops
      drafting, and the distance above which the large model rejects a token (None: infinite).
    most: largest number of tokens drafted in a row; γ of strict and lenient decoders.
    predicted: speed-up at temperature 0, from each model's own texts and measured costs; BiLD only.
    predicted_seconds: predicted seconds per token.
    predicted_large_calls, predicted_small_calls: predicted calls for the emitted tokens.
    large_calls, small_calls: forward passes per model, without those that read the prompts.
    rollbacks: number of large calls that replaced a drafted token.
    discarded: number of drafted tokens that were not emitted.
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
        return self.ms_per_token / 1e3

    @property
    def latency(self) -> float:
        """Seconds per token, divided by the large model's seconds per token."""
        return 1 / self.measured

    @property
    def time_error_percent(self) -> float | None:
        """Error of the predicted time per token in %, 100 (predicted - measured) / measured."""
        if self.predicted_seconds is None:
            return None
        return 100 * (self.predicted_seconds / self.seconds - 1)

    @property
    def fallback_percent(self) -> float:
        """Large calls in per cent of the emitted tokens (Kim et al. 2023, Table 4)."""
        return 100 * self.large_calls / self.tokens

    @property
    def rollback_percent(self) -> float:
        """Large calls that replaced a drafted token, in per cent of emitted tokens (Table 4)."""
        return 100 * self.rollbacks / self.tokens


# Points of the metric that "no loss" may lose in the paper's tables (Kim et al. 2023, Table 1).
NO_LOSS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A finished sweep of one draft at one temperature.

    rows: one row per decoder; the first is the large model's.
    metric: the metric that orders rows by quality.
    c: time of a draft step, divided by the time of a target step.
    noise_percent: difference between two measurements of the large model, in per cent.
    precision_percent: largest error that the clock causes in a speed-up, in %; None if unknown.
    repeats: smallest number of times that a run was timed.
    """

    rows: tuple[BildRow, ...]
    metric: str
    prompts: int
    c: float
    noise_percent: float
    precision_percent: float | None = None
    repeats: int = 1

    @property
    def large(self) -> BildRow:
        """The large model's row."""
        return self.rows[0]

    def score(self, row: BildRow) -> float:
        """Returns a row's quality by the main metric."""
        return row.quality[self.metric]

    def of(self, decoder: str) -> list[BildRow]:
        """Returns the rows of a decoder, in the order of the sweep."""
        return [row for row in self.rows if row.decoder == decoder]

    def fastest(self, decoder: str, *, loss: float) -> BildRow | None:
        """Returns a decoder's fastest row that loses at most `loss` points of quality, or None.

        The loss is relative to the large model. Rows with impossible values are ignored.
        """
        least = self.score(self.large) - loss
        able = [row for row in self.of(decoder) if self.score(row) >= least and not row.doubts]
        return max(able, key=lambda row: row.measured, default=None)

    def front(self, rows: Sequence[BildRow]) -> list[BildRow]:
        """Returns the rows that no other row beats in both quality and speed, fastest first."""
        points = [(self.score(row), row.measured) for row in rows]
        kept = [
            row
            for row, point in zip(rows, points, strict=True)
            if not any(one != point and one[0] >= point[0] and one[1] >= point[1] for one in points)
        ]
        return sorted(kept, key=lambda row: row.latency)

    def mean_error(self, name: str, *decoders: str) -> float | None:
        """Returns the mean absolute error of the decoders' predictions; None if there are none.

        name: property of a row that holds its error, for example "error_percent".
        """
        return mean_abs(getattr(row, name) for row in self.rows if row.decoder in decoders)

    def summary(self) -> dict[str, Any]:
        """Returns the JSON summary: mean errors, and the fastest rows for two limits of loss."""
        errors = {
            f"{prefix}mean_abs_{error}": self.mean_error(error, *decoders)
            for error in ("error_percent", "time_error_percent")
            for prefix, decoders in (
                ("", (BILD, WINDOW)), ("bild_", (BILD,)), ("window_", (WINDOW,)),
            )
        }  # fmt: skip
        best = {
            f"{decoder}_{name}": None if row is None else row.data()
            for decoder in (BILD, WINDOW, "strict", "lenient")
            for name, loss in (("no_loss", NO_LOSS), ("one_point", 1.0))
            for row in [self.fastest(decoder, loss=loss)]
        }
        return {
            "draft": self.large.draft,
            "temperature": self.large.temperature,
            "metric": self.metric,
            **errors,
            "noise_percent": self.noise_percent,
            "c": self.c,
            "best": best,
        }


def fewest_repeats(sweeps: Sequence[Sweep]) -> int:
    """Returns the smallest number of times that any run in these sweeps was timed."""
    return min(sweep.repeats for sweep in sweeps)


def worst_precision(sweeps: Sequence[Sweep]) -> float | None:
    """Returns the largest error that the clock causes in a speed-up, in %; None if unknown."""
    known = [sweep.precision_percent for sweep in sweeps if sweep.precision_percent is not None]
    return max(known) if len(known) == len(sweeps) else None
