"""A row of this project's own decoder: a draft, a temperature and a gamma policy."""

from __future__ import annotations

from typing import ClassVar

from estimator.validation.row import ValidationRow


class SpeculativeRow(ValidationRow, frozen=True, kw_only=True):
    """What was predicted of one draft, temperature and policy, and what came of it.

    Predictions are of fixed policies alone.

    lossless: whether the rule keeps the target's law.
    alpha: mean of sum min(p, q) over texts sampled from the target before the run; under a
      lenient rule with its p/l in place of p (Leviathan et al. 2023, A.5).
    c: seconds of a draft step over seconds of a target step; None where nothing was drafted.
    predicted: replay over the run's own texts; costs measured apart; None for a lossy rule above
      temperature 0, as its texts are not the target's.
    predicted_theorem8: verification free, acceptances i.i.d.
    predicted_ahead, _low, _high: replay over those other texts; None for a lossy rule, which
      leaves the target's texts.
    measured: each block by the median of its repeats; the interval is over prompts. All bounds of
      intervals are None where there is one prompt.
    predicted_target_calls, target_calls: on the run's own texts.
    identical_to_target: every id equal to greedy decoding's; None above temperature 0.
    tie_gap: where it is not, the target's logit gap at the first difference, the largest over
      prompts; else None.
    end_to_end_predicted, end_to_end_measured: speed-ups with both prefills.
    """

    derived: ClassVar[tuple[str, ...]] = ("error_percent", "predicted_calibrated")

    alpha: float
    tokens_per_second: float
    draft_seconds: float
    verify_seconds: float
    other_seconds: float
    lossless: bool
    c: float | None
    predicted_theorem8: float | None = None
    predicted_ahead: float | None = None
    predicted_ahead_low: float | None = None
    predicted_ahead_high: float | None = None
    predicted_target_calls: float | None = None
    target_calls: int
    block_efficiency: float
    accepted_fraction: float | None
    identical_to_target: bool | None
    tie_gap: float | None
    baseline_tokens_per_second: float
    end_to_end_predicted: float | None = None
    end_to_end_measured: float

    @property
    def predicted_calibrated(self) -> float | None:
        """The prediction by the name that tells it from the one made ahead of the run."""
        return self.predicted
