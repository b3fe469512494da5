"""What llama.cpp's server logs of its drafts: rates by position, and the time of drafting."""

from __future__ import annotations

import re

from engines.observing.observation import Observation
from engines.observing.timing import Timed

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


def read_log(text: str, gamma: int | None) -> Observation:
    """Returns what the last line of each way of drafting counts, all ways together.

    Tokens accepted and drafted are exact. Rates are printed with three digits, so that counts by
    position are right to one in two thousand drafts. A draft that was never judged, as where a text
    ended, counts as drafted alone.

    Raises:
      ValueError: if no line tells of drafts.
    """
    last = {found["way"]: found for found in LINE.finditer(text)}
    total: Observation | None = None
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
            timed=_timed(text),
        )
        total = one if total is None else total + one
    if total is None:
        raise ValueError(f"a log of llama.cpp must have lines '{MARK} …' with drafts, got none")
    return total


def _timed(text: str) -> Timed | None:
    """Returns the time of tokens after each answer's first."""
    answers = [(float(ms), int(tokens) - 1) for ms, tokens in _TOKENS.findall(text)]
    seconds, tokens = sum(ms for ms, _ in answers) / 1e3, sum(count for _, count in answers)
    return Timed(seconds, tokens) if seconds > 0 and tokens > 0 else None
