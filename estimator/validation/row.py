"""One line of a validation: the names that the rows of every decoder share."""

from __future__ import annotations

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
    rule: of acceptance, by name.
    alpha: acceptance rate.
    measured, _low, _high: the target's seconds over the run's, with its 95 % interval.
    measured_left_out: measured with each prompt left out, in their order; empty of a single one.
    predicted: the speed-up, from costs measured apart; None where nothing predicts it.
    ms_per_token, tokens_per_second: of one sequence; of all that ran together.
    tokens: emitted.
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
