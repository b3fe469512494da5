"""What vLLM prints of its drafts: its metrics page, its log, a result of `vllm bench serve`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engines.observing.observation import Observation, whole_number
from engines.observing.pages import observed_page
from engines.observing.timing import Timed, timed_bench, timed_page

TURNS_ON = "--speculative-config"
MARK = "SpecDecoding metrics:"
LINE = re.compile(
    r"SpecDecoding metrics:.*?\bAccepted: (\d+) tokens, Drafted: (\d+) tokens, "
    r"Per-position acceptance rate: (\d\.\d{2,}(?:, \d\.\d{2,})*), Avg"
)
# Sums of histograms, the second in older versions. They count a step once however many tokens it
# emits, so that the tokens are counted elsewhere.
_WAITED = ("inter_token_latency_seconds_sum", "time_per_output_token_seconds_sum")
_EMITTED, _FIRST = "generation_tokens", "time_to_first_token_seconds_count"
VERSION = re.compile(r"\bvLLM API server version (\S+)|\bLLM engine \(v?(\d[^)\s]*)\)")


def read_page(page: str, gamma: int | None) -> Observation:
    """Returns what a metrics page counts since its server started; see `observed_page`."""
    return observed_page(
        page,
        kind="vllm",
        prefix="vllm",
        turns_on=TURNS_ON,
        gamma=gamma,
        lists_all=True,
        timed=_timed,
    )


def _timed(totals: Mapping[str, float]) -> Timed | None:
    """Returns the time of tokens after each request's first; None where a page lacks it."""
    if _EMITTED not in totals or _FIRST not in totals:
        return None
    seconds = next((totals[name] for name in _WAITED if name in totals), 0.0)
    return timed_page(seconds, totals[_EMITTED] - totals[_FIRST])


def read_log(text: str, _gamma: int | None) -> Observation:
    """Returns what a log's lines count together.

    Tokens accepted and drafted are exact. Rates are printed with three digits, of some versions
    two, so that counts by position are right to one in two thousand drafts of a line (one in two
    hundred), and drafts, where blocks were not all of γ tokens, to a share of 0.0005 γ (0.005 γ)
    over the sum of the rates.

    Raises:
      ValueError: if a line cannot be read, or lines are of several γ, or there is none.
    """
    total: Observation | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if MARK not in line:
            continue
        found = LINE.search(line)
        if found is None:
            raise ValueError(
                "a line of vLLM's log must tell accepted and drafted tokens and rates by position "
                f"to its end, got line {number} ending in {line[line.index(MARK) :][-80:]!r}: "
                "where it was cut short or wrapped, leave it out or save the log anew (rates "
                "alone: 'specplan plan --acceptance-by-position')"
            )
        accepted, drafted = int(found[1]), int(found[2])
        printed = found[3].split(", ")
        unit = 10 ** max(len(rate) - len("0.") for rate in printed)
        rates = [round(unit * float(rate)) for rate in printed]
        drafts = _drafts(accepted, drafted, rates, unit)
        if drafts == 0:
            continue
        one = Observation(
            kind="vllm",
            origin="log",
            stated_gamma=len(rates),
            drafts=drafts,
            drafted=drafted,
            accepted=accepted,
            by_position=tuple(round(rate * drafts / unit) for rate in rates),
        )
        total = one if total is None else total + one
    if total is None:
        raise ValueError(f"a log of vLLM must have lines '{MARK} …' with drafts, got none")
    version = VERSION.search(text)
    if version is None:
        return total
    return replace(total, version=version[1] or version[2])


def _drafts(accepted: int, drafted: int, rates: Sequence[int], unit: int) -> int:
    """Returns the drafts of a line: accepted over the sum of its rates, as exact as they allow.

    Args:
      rates: by position, as they are printed, times `unit`.
    """
    # Where every block may have drafted γ tokens, drafts are drafted over γ; by lookup often fewer.
    gamma, total = len(rates), sum(rates)
    fewest = -(-drafted // gamma)
    if 2 * abs(fewest * total - unit * accepted) <= fewest * gamma:
        return fewest
    # Rates that all were rounded to 0 were less than half a unit.
    return min(drafted, max(fewest, round(unit * accepted / max(total, gamma / 2))))


def read_bench(result: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns what a result of `vllm bench serve --save-result` counts and times.

    Args:
      gamma: 0 where the user says that nothing was drafted; else the result tells it.

    Raises:
      ValueError: if it lacks a count.
    """
    model = result.get("model_id")
    told: dict[str, Any] = {
        "model": model if isinstance(model, str) else None,
        "timed": timed_bench(result),
    }
    if "spec_decode_num_drafts" not in result:
        if gamma == 0:
            return Observation(kind="vllm", origin="bench", **told)
        raise ValueError(
            "vllm bench serve must tell spec_decode_num_drafts, got none: speculation is off"
        )
    drafts = whole_number(result, "spec_decode_num_drafts")
    rates = result.get("spec_decode_per_position_acceptance_rates")
    if not isinstance(rates, list) or not rates:
        raise ValueError(
            f"vllm bench serve must tell spec_decode_per_position_acceptance_rates, got {rates!r}"
        )
    return Observation(
        kind="vllm",
        origin="bench",
        stated_gamma=len(rates),
        drafts=drafts,
        drafted=whole_number(result, "spec_decode_draft_tokens"),
        accepted=whole_number(result, "spec_decode_accepted_tokens"),
        by_position=tuple(round(float(rate) * drafts) for rate in rates),
        **told,
    )
