"""Reads vLLM's counts of drafts: its metrics page, its log, its answers, its bench's result."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.counting import Timed, times
from engines.observing.observation import Observation
from engines.observing.printed import MetricsPage, text_of, timed_bench, whole_number
from simulator.cost.roofline.shapes import named_share

TURNS_ON = "--speculative-config"
_KEY = "speculative_decoding"
MARK = "SpecDecoding metrics:"
LINE = re.compile(
    r"SpecDecoding metrics: (?:[^,\n]*, )*?Accepted: (\d+) tokens, Drafted: (\d+) tokens, "
    r"Per-position acceptance rate: (\d\.\d{2,}(?:, \d\.\d{2,})*), Avg"
)
# Sums of histograms, the second in older versions. They count a step once however many tokens it
# emits, so that the tokens are counted elsewhere.
_WAITED = ("inter_token_latency_seconds_sum", "time_per_output_token_seconds_sum")
_EMITTED, _FIRST = "generation_tokens", "time_to_first_token_seconds_count"
VERSION = re.compile(r"\bvLLM API server version (\S+)|\bLLM engine \(v?(\d[^)\s]*)\)")

# Both models, in the line that starts the engine; a head is no draft_model.
_PAIR = re.compile(
    r"config: model='([^']+)', speculative_config=SpeculativeConfig\("
    r"(?:method='draft_model', model|draft_model)='([^']+)'"
)


def read_page(text: str, gamma: int | None) -> Observation:
    """Returns the counts on a metrics page since the server's start; see `MetricsPage.observed`."""
    page = MetricsPage(text, "vllm")
    timed = _timed(page.sums)
    return page.observed(gamma, timed, kind="vllm", turns_on=TURNS_ON, lists_all=True)


def _timed(totals: Mapping[str, float]) -> Timed | None:
    """Returns the time of all tokens but each request's first; None if the page lacks it."""
    if _EMITTED not in totals or _FIRST not in totals:
        return None
    seconds = next((totals[name] for name in _WAITED if name in totals), 0.0)
    return times(seconds, totals[_EMITTED] - totals[_FIRST])


def read_log(blocks: Iterable[str], _gamma: int | None) -> Observation:
    """Returns the sum of the counts in a log; refuses several γ, and incomplete lines.

    Accepted and drafted tokens are exact. Rates are printed with three digits (two in some
    versions), so counts by position are exact to 0.05 % (0.5 %) of a line's drafts. If some blocks
    were short, the number of drafts has a relative error of at most 0.0005 γ (0.005 γ) over the
    sum of the rates.

    blocks: the log in blocks of whole lines.
    """
    version: re.Match[str] | None = None
    pair: re.Match[str] | None = None
    before = 0
    # Drafts, drafted tokens, accepted ones, and those by position.
    total: NDArray[np.int64] | None = None
    for block in blocks:
        version = version or VERSION.search(block)
        pair = pair or (_PAIR.search(block) if total is None else None)
        found = LINE.findall(block)
        if block.count(MARK) != len(found):
            raise _unread(block, before)
        before += block.count("\n")
        drafting = [line for line in found if int(line[1]) > 0]
        if not drafting:
            continue
        counted = _counted(drafting)
        if total is not None and len(counted) != len(total):
            raise _several(len(total) - 3, len(counted) - 3)
        total = counted if total is None else total + counted
    if total is None:
        raise ValueError(f"a log of vLLM must have lines '{MARK} …' with drafts, got none")
    drafts, drafted, accepted, *hits = total.tolist()
    return Observation(
        kind="vllm",
        origin="log",
        version=None if version is None else version[1] or version[2],
        stated_gamma=len(hits),
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        by_position=tuple(hits),
        draft_share=None if pair is None else named_share(pair[1], pair[2]),
    )


def _counted(lines: Sequence[tuple[str, str, str]]) -> NDArray[np.int64]:
    """Returns sums over lines: drafts, drafted tokens, accepted tokens, accepted by position.

    A line's number of drafts is its accepted tokens over the sum of its rates.

    lines: accepted tokens, drafted tokens and rates of each line, as they are printed.
    """
    positions = [printed.count(",") + 1 for *_, printed in lines]
    gamma = positions[0]
    if len(set(positions)) > 1:
        raise _several(gamma, next(each for each in positions if each != gamma))
    accepted, drafted = np.array([line[:2] for line in lines], np.int64).T
    # Digits of each rate after its point, from the length of the line ("0.820, 0.610").
    lengths = np.array([len(printed) for *_, printed in lines])
    unit = 10 ** (-(-(lengths - 2 * (gamma - 1)) // gamma) - 2)
    printed_rates = ", ".join(printed for *_, printed in lines).split(", ")
    parsed = np.array(printed_rates, np.float64).reshape(-1, gamma)
    rates = np.rint(parsed * unit[:, None]).astype(np.int64)
    summed = rates.sum(axis=1)
    # If every block may have drafted γ tokens, drafts are drafted over γ. Lookups often draft less.
    fewest = -(-drafted // gamma)
    full = 2 * np.abs(fewest * summed - unit * accepted) <= fewest * gamma
    # Rates that all were rounded to 0 were less than half a unit.
    inferred = np.rint(unit * accepted / np.maximum(summed, gamma / 2)).astype(np.int64)
    drafts = np.where(full, fewest, np.clip(inferred, fewest, drafted))
    hits = np.rint(rates * drafts[:, None] / unit[:, None]).sum(axis=0)
    return np.array([drafts.sum(), drafted.sum(), accepted.sum(), *hits], np.int64)


def _several(first: int, other: int) -> ValueError:
    return ValueError(f"sources must be of one gamma, got {first} and {other}")


def _unread(block: str, before: int) -> ValueError:
    """Returns the error about the first line of a block that has MARK but cannot be read."""
    lines = enumerate(block.split("\n"), start=before + 1)
    number, line = next(each for each in lines if each[1].count(MARK) != len(LINE.findall(each[1])))
    return ValueError(
        "a line of vLLM's log must have accepted and drafted tokens and rates by position "
        f"to its end, got line {number} ending in {line[line.index(MARK) :][-80:]!r}: "
        "where it was cut short or wrapped, leave it out or save the log again (with rates "
        "only: 'specplan plan --acceptance-by-position')"
    )


def read_bench(result: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts and times of `vllm bench serve --save-result`; refuses missing counts.

    gamma: 0 if the user states that nothing was drafted; other values are ignored, because the
      result contains γ.
    """
    model = text_of(result, "model_id")
    plain = Observation(kind="vllm", origin="bench", model=model, timed=timed_bench(result))
    if "spec_decode_num_drafts" not in result:
        if gamma == 0:
            return plain
        raise ValueError(
            "vllm bench serve must report spec_decode_num_drafts, got none: speculation is off"
        )
    drafts = whole_number(result, "spec_decode_num_drafts")
    rates = result.get("spec_decode_per_position_acceptance_rates")
    if not isinstance(rates, list) or not rates:
        raise ValueError(
            f"vllm bench serve must report spec_decode_per_position_acceptance_rates, got {rates!r}"
        )
    return replace(
        plain,
        stated_gamma=len(rates),
        drafts=drafts,
        drafted=whole_number(result, "spec_decode_draft_tokens"),
        accepted=whole_number(result, "spec_decode_accepted_tokens"),
        by_position=tuple(round(float(rate) * drafts) for rate in rates),
    )


def read_answer(answer: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts of one answer, as one request; refuses contradictory counts.

    `--per-request-spec-decode-metrics summary|detailed` adds `metrics.speculative_decoding` to
    answers (pull request 48915). Counters cannot distinguish a short block that was accepted in
    full from a rejected block; the arrays of `detailed` can.
    """
    metrics = answer.get("metrics")
    found = metrics.get(_KEY) if isinstance(metrics, dict) else None
    if not isinstance(found, dict):
        raise ValueError(
            f"an answer of vLLM must have metrics.{_KEY}, got none: "
            "--per-request-spec-decode-metrics turns it on, for requests of one sequence"
        )
    steps, drafted = (whole_number(found, name) for name in ("num_spec_steps", "num_draft_tokens"))
    accepted, most = (
        whole_number(found, name) for name in ("num_accepted_draft_tokens", "num_spec_tokens")
    )
    histogram = _listed(found, "acceptance_histogram")
    if sum(histogram) != steps or sum(j * n for j, n in enumerate(histogram)) != accepted:
        raise ValueError(
            f"acceptance_histogram must have {steps} steps with {accepted} accepted tokens, got "
            f"{list(histogram)}"
        )
    rejected = steps - histogram[-1] if histogram and drafted == most * steps else None
    if found.get("per_step_accepted") is not None:  # null or missing without `detailed`
        hits, lengths = (_listed(found, f"per_step_{each}") for each in ("accepted", "drafted"))
        if len(hits) != len(lengths) or sum(hits) != accepted or sum(lengths) != drafted:
            raise ValueError("per_step_accepted and per_step_drafted must add up to the totals")
        rejected = sum(hit < length for hit, length in zip(hits, lengths, strict=True))
    return Observation(
        kind="vllm",
        origin="answers",
        stated_gamma=most if gamma is None else gamma,
        model=text_of(answer, "model"),
        drafts=steps,
        drafted=drafted,
        accepted=accepted,
        by_position=tuple(sum(histogram[j:]) for j in range(1, len(histogram))),
        rejected=rejected,
    ).of_one_request


def _listed(found: Mapping[str, Any], name: str) -> tuple[int, ...]:
    values = found.get(name)
    if not isinstance(values, list):
        raise ValueError(f"{name} must be a list of whole numbers, got {values!r}")
    return tuple(whole_number({name: each}, name) for each in values)
