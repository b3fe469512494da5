"""What llama.cpp's server tells of its drafts: its metrics page, its answers, its log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from engines.observing.observation import Observation, whole_number
from engines.observing.pages import observed_page
from engines.observing.timing import Timed, added, number, timed_page

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
        return Observation(kind="llama.cpp", origin="timings", **told)
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


MARK = "#calls(b,g,a)"
# Counts since the server started, of each way of drafting; printed after every answer at -lv 4.
LINE = re.compile(
    r"statistics\s+(?P<way>\S+): #calls\(b,g,a\) =\s*\d+\s+\d+\s+(?P<judged>\d+), "
    r"#gen drafts =\s*(?P<drafts>\d+), #acc drafts =\s*\d+, "
    r"#gen tokens =\s*(?P<drafted>\d+), #acc tokens =\s*(?P<accepted>\d+)"
    r"(?:, #mean acc len = [\d.]+, #acc rate/pos = \((?P<rates>[\d., ]*)\))?"
    r"(?:, dur\(b,g,a\) = [\d.]+, (?P<ms>[\d.]+), [\d.]+ ms)?"
)
_TOKENS = re.compile(r"(?<!prompt )eval time =\s*([\d.]+) ms /\s*(\d+) tokens")


def read_log(blocks: Iterable[str], gamma: int | None) -> Observation:
    """Returns what the last line of each way of drafting counts, all ways together.

    Tokens accepted and drafted are exact. Rates are printed with three digits, so that counts by
    position are right to one in two thousand drafts. A draft that was never judged, as where a text
    ended, counts as drafted alone.

    Args:
      blocks: the log in blocks of whole lines.

    Raises:
      ValueError: if no line tells of drafts.
    """
    last: dict[str, re.Match[str]] = {}
    timed: Timed | None = None
    total: Observation | None = None
    for block in blocks:
        last |= {found["way"]: found for found in LINE.finditer(block)}
        answers = _timed_answers(block)
        timed = added(timed, answers) or timed or answers
    for found in last.values():
        drafts = int(found["judged"])
        if drafts == 0:
            continue
        rates = [float(rate) for rate in (found["rates"] or "").split(",") if rate.strip()]
        drafted = int(found["drafted"])
        one = Observation(
            kind="llama.cpp",
            origin="log",
            stated_gamma=gamma,
            drafts=drafts,
            drafted=drafted,
            accepted=int(found["accepted"]),
            by_position=tuple(round(rate * drafts) for rate in rates),
            draft_seconds=None if found["ms"] is None else float(found["ms"]) / 1e3,
            timed=timed,
        )
        total = one if total is None else total + one
    if total is None:
        raise ValueError(f"a log of llama.cpp must have lines '{MARK} …' with drafts, got none")
    return total


def _timed_answers(text: str) -> Timed | None:
    """Returns the time of tokens after each answer's first."""
    answers = [(float(ms), int(tokens) - 1) for ms, tokens in _TOKENS.findall(text)]
    seconds, tokens = sum(ms for ms, _ in answers) / 1e3, sum(count for _, count in answers)
    return Timed(seconds, tokens) if seconds > 0 and tokens > 0 else None
