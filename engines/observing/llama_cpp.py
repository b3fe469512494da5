"""What llama.cpp's server tells of its drafts: its metrics page, and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engines.observing.observation import Observation, whole_number
from engines.observing.pages import observed_page
from engines.observing.timing import Timed, number, timed_page

TURNS_ON = "a draft model (--model-draft, with --spec-type draft-simple)"


def read_page(page: str, gamma: int | None) -> Observation:
    """Returns what a metrics page counts since its server started; see `observed_page`."""
    return observed_page(
        page,
        kind="llama.cpp",
        prefix="llamacpp",
        turns_on=TURNS_ON,
        gamma=gamma,
        lists_all=False,
        timed=_timed_page,
    )


def read_timings(answer: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts and times of one answer.

    Every target pass but the prompt's emits what stood of its draft, and one token more. The last
    pass of a text may draft nothing, and is taken for a draft all the same.

    Args:
      gamma: drafted tokens per block, where the user says it; 0: nothing is drafted.

    Raises:
      ValueError: if it counts no drafts.
    """
    timings = answer.get("timings", answer)
    if not isinstance(timings, dict):
        raise ValueError(f"timings must be an object, got {timings!r}")
    model = answer.get("model")
    told: dict[str, Any] = {
        "model": model if isinstance(model, str) else None,
        "timed": _timed(timings),
    }
    if gamma == 0 and "draft_n" not in timings:
        return Observation.undrafted(kind="llama.cpp", origin="timings", **told)
    if "draft_n" not in timings:
        raise ValueError(
            f"timings must have draft_n, got none: speculation is off; {TURNS_ON} turns it on"
        )
    drafted, accepted = (whole_number(timings, name) for name in ("draft_n", "draft_n_accepted"))
    return Observation(
        kind="llama.cpp",
        origin="timings",
        stated_gamma=gamma,
        drafts=whole_number(timings, "predicted_n") - 1 - accepted,
        drafted=drafted,
        accepted=accepted,
        **told,
    )


def _timed_page(totals: Mapping[str, float]) -> Timed | None:
    """Returns the time of all tokens: the page counts no requests, whose first takes none of it."""
    return timed_page(
        totals.get("tokens_predicted_seconds", 0.0), totals.get("tokens_predicted", 0.0)
    )


def _timed(timings: Mapping[str, Any]) -> Timed | None:
    """Returns the time of tokens after the first: generation is timed from the moment of that."""
    seconds = number(timings, "predicted_ms") / 1e3
    tokens = whole_number(timings, "predicted_n") - 1
    return Timed(seconds, tokens, batch=1) if seconds > 0 and tokens > 0 else None
