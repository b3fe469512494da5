"""Rows of validations: the names that all decoders share, those of our own, and what cannot be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from estimator.writing import builtins


class ValidationRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was predicted of one draft and setting, and what came of it.

    A decoder's own row adds to it; what reads rows of several decoders reads these alone. Speed-ups
    are of decoding, prefill apart, over the target alone.

    target: its name; "" where the file does not tell.
    prompts_hash: of the prompts that the run was of, to tell which rows may be compared.
    draft_temperature: of the draft's own sampling; None where it has none to set.
    policy: `fixed`, or the name of another; gamma: of a fixed one, else None.
    measured, _low, _high: the target's seconds over the run's, with its 95 % interval.
    measured_left_out: measured with each prompt left out, in their order; empty of a single one.
    predicted: the speed-up, from costs measured apart; None where nothing predicts it.
    ms_per_token, tokens_per_second: of one sequence; of all that ran together.
    draft_seconds, verify_seconds, other_seconds: of the run; None where they cannot be told apart.
    doubts: what in it cannot be, so that none of its times are to be trusted; a sentence each.
    """

    # Properties that are written beside the fields.
    derived: ClassVar[tuple[str, ...]] = ("error_percent",)

    draft: str
    temperature: float
    measured: float
    tokens: int
    target: str = ""
    prompts_hash: str = ""
    draft_temperature: float | None = None
    policy: str = "fixed"
    gamma: int | None = None
    rule: str = ""
    alpha: float | None = None
    measured_low: float | None = None
    measured_high: float | None = None
    measured_left_out: tuple[float, ...] = ()
    predicted: float | None = None
    ms_per_token: float | None = None
    tokens_per_second: float | None = None
    draft_seconds: float | None = None
    verify_seconds: float | None = None
    other_seconds: float | None = None
    doubts: tuple[str, ...] = ()

    @property
    def error_percent(self) -> float | None:
        """100 (predicted - measured) / measured."""
        if self.predicted is None:
            return None
        return 100 * (self.predicted - self.measured) / self.measured

    @property
    def parts_seconds(self) -> tuple[float, float, float] | None:
        """Seconds of drafting, of verifying, of all else; None where they were not told apart."""
        if self.draft_seconds is None or self.verify_seconds is None or self.other_seconds is None:
            return None
        return self.draft_seconds, self.verify_seconds, self.other_seconds

    def data(self) -> dict[str, Any]:
        """Returns the row as JSON has it: its fields, and what is derived from them."""
        fields = {name: getattr(self, name) for name in (*self.__struct_fields__, *self.derived)}
        written: dict[str, Any] = builtins(fields)
        return written


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


# An interval whose ends are further apart says nothing of what lies between.
MOST_SPREAD = 3.0
_FASTER = " (the steps with and without drafts differ, or the clock was held up)"


def row_doubts(row: ValidationRow, *, tokens_a_call: float | None = None) -> tuple[str, ...]:
    """Returns what a row says that cannot be, a sentence each.

    A step emits at most γ + 1 tokens and takes no less than the target's pass over one, so no
    speed-up is beyond what its steps emit. Where a clock says otherwise, it was held up.

    Args:
      tokens_a_call: that its steps emit on average; None where steps are not the target's alone.
    """
    found = []
    low, high = row.measured_low, row.measured_high
    most = None if row.gamma is None else row.gamma + 1
    if most is not None and row.measured > most:
        found.append(
            f"a speed-up of {row.measured:.2f} is more than the {most} tokens of a step{_FASTER}"
        )
    elif tokens_a_call is not None and low is not None and low > tokens_a_call:
        found.append(
            f"a speed-up of at least {low:.2f} is more than the {tokens_a_call:.2f} tokens of a "
            f"step{_FASTER}"
        )
    if most is not None and row.predicted is not None and row.predicted > most:
        found.append(
            f"a predicted speed-up of {row.predicted:.2f} is more than the {most} tokens of a step"
        )
    if low is not None and high is not None and not high <= MOST_SPREAD * low:
        found.append(f"the interval from {low:.3g} to {high:.3g} says nothing")
    return tuple(found)


def mean_abs(errors: Iterable[float | None]) -> float | None:
    """Returns the mean size of the errors that are known; None where none is."""
    sizes = [abs(error) for error in errors if error is not None]
    return sum(sizes) / len(sizes) if sizes else None


def max_abs(errors: Iterable[float | None]) -> float | None:
    """Returns the largest size of the errors that are known; None where none is."""
    return max((abs(error) for error in errors if error is not None), default=None)
