"""Reads llama.cpp's counts of drafts: its metrics page, its answers, its log."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from engines.counting import Timed, added, times
from engines.observing.observation import Observation
from engines.observing.printed import MetricsPage, number, text_of, whole_number
from simulator.acceptance.accepted import unknown_calls
from simulator.cost.roofline.shapes import named_share

TURNS_ON = "a draft model (--model-draft, with --spec-type draft-simple)"


def read_page(text: str, gamma: int | None) -> Observation:
    """Returns the counts on a metrics page since the server's start; see `MetricsPage.observed`."""
    page = MetricsPage(text, "llamacpp:")
    # The page counts the first token of each request, but not its time.
    timed = times(page.sums["tokens_predicted_seconds"], page.sums["tokens_predicted"])
    return page.observed(gamma, timed, kind="llama.cpp", turns_on=TURNS_ON, lists_all=False)


def read_timings(answer: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts and times of one answer; refuses an answer without counts of drafts.

    Each target pass after the pass over the prompt is counted as a draft. This includes the last
    pass, which may have drafted nothing.

    gamma: drafted tokens per block as the user states it; 0: no drafts; None: not stated.
    """
    timings = answer.get("timings", answer)
    if not isinstance(timings, dict):
        raise ValueError(f"timings must be an object, got {timings!r}")
    # llama.cpp starts its clock at the first token.
    timed = times(
        number(timings, "predicted_ms") / 1e3, whole_number(timings, "predicted_n") - 1, 1
    )
    model = text_of(answer, "model")
    plain = Observation(kind="llama.cpp", origin="timings", model=model, timed=timed)
    if gamma == 0 and "draft_n" not in timings:
        return plain
    if "draft_n" not in timings:
        raise ValueError(
            f"timings must have draft_n, got none: speculation is off; {TURNS_ON} turns it on"
        )
    drafted, accepted = (whole_number(timings, name) for name in ("draft_n", "draft_n_accepted"))
    drafts = whole_number(timings, "predicted_n") - 1 - accepted
    return replace(
        plain, stated_gamma=gamma, drafts=drafts, drafted=drafted, accepted=accepted
    ).of_one_request(number(timings, "prompt_n") + number(timings, "cache_n"))


MARK = "draft acceptance"
# Counts since the server started, of each way of drafting: after every answer, or at -lv 4. Builds
# before #calls(b,g,a) print only #calls, which includes calls that drafted nothing.
LINE = re.compile(
    r"statistics\s+(?P<way>\S+): #calls(?:\(b,g,a\) =\s*\d+\s+\d+\s+(?P<judged>\d+)| =\s*\d+), "
    r"#gen drafts =\s*(?P<drafts>\d+), #acc drafts =\s*\d+, "
    r"#gen tokens =\s*(?P<drafted>\d+), #acc tokens =\s*(?P<accepted>\d+)"
    r"(?:, #mean acc len = [\d.]+, #acc rate/pos = \((?P<rates>[\d., ]*)\))?"
    r"(?:, dur\(b,g,a\) = [\d.]+, (?P<ms>[\d.]+), [\d.]+ ms)?"
)
# One answer's time, or its counts, which follow.
_ANSWER = re.compile(
    r"(?<!prompt )eval time =\s*([\d.]+) ms /\s*(\d+) tokens|"
    r"draft acceptance(?P<old> rate)? = [\d.]+ "
    r"\(\s*(?P<accepted>\d+) accepted /\s*(?P<drafted>\d+) generated\)"
    r"(?:, mean (?:acceptance length|len) =\s*(?P<length>[\d.]+))?"
    r"(?:, acceptance rate per position = \((?P<rates>[\d., ]*)\))?"
)
_LOADED = re.compile(r"loading (draft )?model '([^']+)'")
_BUILD = re.compile(r"\bbuild: (\d+) \(")
_OLD = (
    "A build before mid May 2026 wrote this log: its drafts end below --draft-p-min, 0.75 by "
    "default. Builds before pull request 22506 (April 2026) keep the token below it, later ones "
    "drop it. Newer builds have --spec-draft-p-min, 0 by default."
)


def read_log(blocks: Iterable[str], gamma: int | None) -> Observation:
    """Returns the counts of a log.

    They are the totals in each drafter's last line of statistics. Without such lines, the counts of
    all answers are summed. Rates are printed with three digits, so counts by position are exact to
    0.05 % of the drafts. A draft that was never verified, for example at a text's end, counts as
    drafted, not as accepted.

    blocks: the log in blocks of whole lines.
    """
    last: dict[str, re.Match[str]] = {}
    timed: Timed | None = None
    answers, tokens, old = list[Observation](), 0, False
    build: re.Match[str] | None = None
    loaded: dict[bool, str] = {}
    for block in blocks:
        if "loading " in block:
            loaded |= {match[1] is not None: match[2] for match in _LOADED.finditer(block)}
        build = build or _BUILD.search(block)
        last |= {match["way"]: match for match in LINE.finditer(block)}
        for printed in _ANSWER.finditer(block):
            if printed["accepted"] is None:
                tokens = int(printed[2])
                request_times = times(
                    float(printed[1]) / 1e3, tokens - 1
                )  # each but its first token
                timed = added(timed, request_times) or timed or request_times
            else:
                answers.append(_answer(printed, tokens, gamma))
                tokens, old = 0, old or printed["old"] is not None
    judged = ((match, int(match["judged"] or match["drafts"])) for match in last.values())
    counted = [_counted(match, drafts, gamma) for match, drafts in judged if drafts > 0]
    if not counted and not answers:
        raise ValueError(
            f"a log of llama.cpp must have lines '{MARK} = …' or 'statistics …' with drafts, got "
            "none"
        )
    version = None if build is None else f"b{build[1]}"
    notes = (_OLD,) if old else ()
    share = named_share(loaded.get(False), loaded.get(True))
    total = reduce(add, counted or answers)
    if timed is not None:
        total = total.over_all_steps(timed.tokens)
    return replace(
        total, timed=timed, version=version, notes=notes, former_flags=old, draft_share=share
    )


def _answer(match: re.Match[str], tokens: int, gamma: int | None) -> Observation:
    """Returns the counts in a log's line on one answer; tokens: the answer's length, 0: unknown."""
    accepted, drafted = int(match["accepted"]), int(match["drafted"])
    drafts, error = tokens - 1 - accepted, 0.0
    if match["length"] is not None and accepted > 0 and float(match["length"]) > 1:
        drafts = round(accepted / (float(match["length"]) - 1))
    elif tokens == 0:
        if gamma is None:
            raise ValueError(
                f"`gamma` must be given where a log does not count calls: {drafted} tokens drafted "
                "without the line 'eval time = … / N tokens'"
            )
        drafts, error = unknown_calls(drafted, gamma)
    return replace(_counted(match, drafts, gamma), calls_error=error)


def _counted(match: re.Match[str], drafts: int, gamma: int | None) -> Observation:
    rates = [float(rate) for rate in (match["rates"] or "").split(",") if rate.strip()]
    ms = match.groupdict().get("ms")
    return Observation(
        kind="llama.cpp",
        origin="log",
        stated_gamma=gamma,
        drafts=max(drafts, 1),
        drafted=int(match["drafted"]),
        accepted=int(match["accepted"]),
        by_position=tuple(round(rate * drafts) for rate in rates),
        draft_seconds=None if ms is None else float(ms) / 1e3,
    )
