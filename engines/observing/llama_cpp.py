"""What answers of llama.cpp's server tell of its drafts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engines.observing.observation import Observation, whole_number


def read_timings(answer: Mapping[str, Any], gamma: int | None, *, turns_on: str) -> Observation:
    """Returns the counts of one answer.

    Every target pass but the prompt's emits what stood of its draft, and one token more. The last
    pass of a text may draft nothing, and is taken for a draft all the same.

    Args:
      answer: with `timings`, or these alone.
      gamma: drafted tokens per block, where the user says it.
      turns_on: what turns speculation on, for the message.

    Raises:
      ValueError: if it counts no drafts.
    """
    timings = answer.get("timings", answer)
    if not isinstance(timings, dict) or "draft_n" not in timings:
        raise ValueError(
            f"timings must have draft_n, got none: speculation is off; {turns_on} turns it on"
        )
    drafted, accepted = (whole_number(timings, name) for name in ("draft_n", "draft_n_accepted"))
    drafts = whole_number(timings, "predicted_n") - 1 - accepted
    model = answer.get("model")
    return Observation(
        "llama.cpp",
        "timings",
        gamma,
        drafts,
        drafted,
        accepted,
        model=model if isinstance(model, str) else None,
    )
