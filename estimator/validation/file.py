"""Validations as files: the rows of every decoder, their summary, and impossible values in them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from estimator.profiles.parts import Level
from estimator.writing import builtins
from reference.files import read_json
from simulator.numerics.intervals import CONFIDENCE

SPECULATIVE: Final = "speculative"
BILD: Final = "bild"
ENGINE: Final = "engine"
# An interval with a larger ratio of its ends carries no information.
MOST_SPREAD = 3.0
_FASTER = " (the steps with and without drafts differ, or the clock was held up)"


class ValidationRow(msgspec.Struct, frozen=True, kw_only=True):
    """The predicted and the measured speed-up of one draft with one setting.

    Each kind of decoder has a subclass with more fields. Speed-ups are relative to the target
    without a draft, and do not include the pass over the prompt.

    target: the target's name; "" if the file does not state it.
    prompts_hash: rows with equal hashes of the prompts may be compared.
    draft_temperature: None if the draft has none.
    policy: name of the policy that chooses draft lengths, for example `fixed`.
    gamma: draft length of the policy `fixed`; None for other policies.
    measured_left_out: speed-up without prompt 1, without prompt 2, …; empty for one prompt.
    predicted: speed-up from separately measured costs; None without a prediction.
    ms_per_token: milliseconds per token of one sequence.
    tokens_per_second: throughput of all sequences together.
    draft_seconds, verify_seconds, other_seconds: parts of the run's seconds; None if not separable.
    doubts: sentences about impossible values. If there are any, no time can be trusted.
    """

    # Properties that are written together with the fields.
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
        """Error of the prediction in per cent, 100 (predicted - measured) / measured."""
        if self.predicted is None:
            return None
        return 100 * (self.predicted - self.measured) / self.measured

    @property
    def predicted_calibrated(self) -> float | None:
        """The value of `predicted`. The files of some decoders have it under this second name."""
        return self.predicted

    @property
    def parts_seconds(self) -> tuple[float, float, float] | None:
        """Seconds of drafting, verifying and other work; None if they cannot be separated."""
        if self.draft_seconds is None or self.verify_seconds is None or self.other_seconds is None:
            return None
        return self.draft_seconds, self.verify_seconds, self.other_seconds

    def data(self) -> dict[str, Any]:
        """Returns the row as a JSON object, with its fields and derived values."""
        names = (*self.__struct_fields__, *self.derived)
        return dict(builtins({name: getattr(self, name) for name in names}))


class SpeculativeRow(ValidationRow, frozen=True, kw_only=True):
    """Predictions and measurements of one draft, temperature and policy with specplan's decoder.

    lossless: whether the acceptance rule preserves the target's distribution.
    alpha: mean of Σ min(p, q) over the baseline's texts; for a lenient rule, p is replaced by p/l
      (Leviathan et al. 2023, A.5).
    c: seconds of a draft step over seconds of a target step; None if nothing was drafted.
    predicted: replay over the run's own texts with separately measured costs; None for a lossy rule
      above temperature 0, because its texts are not the target's.
    predicted_theorem8: prediction with free verification and i.i.d. acceptance.
    predicted_ahead: replay over other texts of the target; None for a lossy rule.
    measured: uses each block's median time over the repeats; its interval is over prompts.
    error_percent_low, _high: interval of the error over prompts; None for one prompt.
    predicted_target_calls: target calls that replay predicts for the run's own texts.
    identical_to_target: whether all ids equal the target's greedy ids; None above temperature 0.
    tie_gap: largest difference of the target's logits where a text first differs from the greedy
      text; None for identical texts and above temperature 0.
    end_to_end_predicted, end_to_end_measured: speed-ups including both prefills.
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
    error_percent_low: float | None = None
    error_percent_high: float | None = None
    predicted_target_calls: float | None = None
    target_calls: int
    block_efficiency: float
    accepted_fraction: float | None
    identical_to_target: bool | None
    tie_gap: float | None
    baseline_tokens_per_second: float
    end_to_end_predicted: float | None = None
    end_to_end_measured: float


def row_doubts(row: ValidationRow, *, tokens_a_call: float | None = None) -> tuple[str, ...]:
    """Returns sentences about the impossible values of a row.

    A step emits at most γ + 1 tokens and takes at least as long as the target's pass over one
    token. So a speed-up above the tokens per step shows that other programs disturbed the clock.

    tokens_a_call: mean tokens per target call; None if steps are not target calls.
    """
    doubts, more = [], "is more than the"
    low, high = row.measured_low, row.measured_high
    most = math.inf if row.gamma is None else row.gamma + 1
    if row.measured > most:
        doubts.append(f"a speed-up of {row.measured:.2f} {more} {most} tokens of a step{_FASTER}")
    elif tokens_a_call is not None and low is not None and low > tokens_a_call:
        tokens = f"{tokens_a_call:.2f} tokens"
        doubts.append(f"a speed-up of at least {low:.2f} {more} {tokens} of a step{_FASTER}")
    if row.predicted is not None and row.predicted > most:
        doubts.append(f"a predicted speed-up of {row.predicted:.2f} {more} {most} tokens of a step")
    if low is not None and high is not None and not high <= MOST_SPREAD * low:
        doubts.append(f"too noisy to use ({low:.2g} to {high:.2g} times): use more prompts")
    return tuple(doubts)


def mean_abs(errors: Iterable[float | None]) -> float | None:
    """Returns the mean absolute value of the errors that are not None; None without any."""
    sizes = [abs(error) for error in errors if error is not None]
    return sum(sizes) / len(sizes) if sizes else None


def max_abs(errors: Iterable[float | None]) -> float | None:
    """Returns the largest absolute value of the errors that are not None; None without any."""
    return max((abs(error) for error in errors if error is not None), default=None)


RowKind = TypeVar("RowKind", bound=ValidationRow)


class Validated(msgspec.Struct, frozen=True):
    """The contents of the validation file `name` that do not depend on the decoder.

    decoder: the kind of decoder, SPECULATIVE, BILD or ENGINE.
    confidence: confidence level of the intervals.
    command: the command that measured; None: not recorded.
    """

    name: str
    decoder: str
    rows: tuple[ValidationRow, ...]
    confidence: float = CONFIDENCE
    command: str | None = None


def validation_json(decoder: str, rows: Sequence[ValidationRow], **sections: Any) -> dict[str, Any]:
    """Returns the object that `specplan validate --json` prints: the rows and other sections."""
    data = [row.data() for row in rows]
    return {"decoder": decoder, "confidence": CONFIDENCE, "rows": data, **sections}


def read_validation(path: Path) -> Validated:
    """Returns the validation that `specplan validate --json` printed into a file."""
    return parse_validation(read_json(path, msgspec.json.decode), name=path.name)


def parse_validation(document: Any, *, name: str) -> Validated:
    """Returns the validation in an object of `validation_json`; raises ValueError for others."""
    rows = document.get("rows") if isinstance(document, Mapping) else None
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"{name} has no rows: it is not the output of validate --json")
    try:
        level = msgspec.convert(document.get("confidence", CONFIDENCE), Level)
    except msgspec.ValidationError as error:
        raise ValueError(f"confidence of {name} is no level of intervals: {error}") from None
    parsed = parse_rows(rows, ValidationRow, name=name)
    decoder, command = str(document.get("decoder", SPECULATIVE)), document.get("command")
    return Validated(name, decoder, parsed, level, None if command is None else str(command))


def parse_rows(rows: Sequence[Any], kind: type[RowKind], *, name: str) -> tuple[RowKind, ...]:
    """Returns the rows in objects of `ValidationRow.data`; raises ValueError for others."""
    parsed = []
    for number, row in enumerate(rows):
        try:
            parsed.append(msgspec.convert(row, kind))
        except msgspec.ValidationError as error:
            raise ValueError(f"row {number} of {name} is no row of a validation: {error}") from None
    return tuple(parsed)
