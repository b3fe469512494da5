"""Numbers that cannot be, told from numbers that surprise.

A step emits at most γ + 1 tokens and takes no less than the target's pass over one, so no speed-up
is beyond what its steps emit. Where a clock says otherwise, it was held up, and whatever it says
beside that is no better; nor where steps shrink (`estimator.runs.shrinking`).
"""

from __future__ import annotations

from estimator.validation.row import ValidationRow

# An interval whose ends are further apart says nothing of what lies between.
MOST_SPREAD = 3.0


def row_doubts(row: ValidationRow, *, tokens_a_call: float | None = None) -> tuple[str, ...]:
    """Returns what a row says that cannot be, a sentence each.

    Args:
      row: of any decoder.
      tokens_a_call: that its steps emit on average; None where steps are not the target's alone.
    """
    found = []
    low, high = row.measured_low, row.measured_high
    most = None if row.gamma is None else row.gamma + 1
    if most is not None and row.measured > most:
        found.append(f"a speed-up of {row.measured:.2f} is more than the {most} tokens of a step")
    elif tokens_a_call is not None and low is not None and low > tokens_a_call:
        found.append(
            f"a speed-up of at least {low:.2f} is more than the {tokens_a_call:.2f} tokens of a "
            "step"
        )
    if most is not None and row.predicted is not None and row.predicted > most:
        found.append(
            f"a predicted speed-up of {row.predicted:.2f} is more than the {most} tokens of a step"
        )
    if low is not None and high is not None and not high <= MOST_SPREAD * low:
        found.append(f"the interval from {low:.3g} to {high:.3g} says nothing")
    return tuple(found)
