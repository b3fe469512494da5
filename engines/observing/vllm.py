"""Reads vLLM's counts of drafts: its metrics page, its log, its answers, its bench's result."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from engines.counting import times
from engines.observing.by_batch import LogInterval, LogTimes
from engines.observing.observation import Observation
from engines.observing.printed import (
    MetricsPage,
    emitted_by_bench,
    text_of,
    timed_bench,
    whole_number,
)
from simulator.cost.roofline.shapes import named_share

TURNS_ON = "--speculative-config"
_KEY = "speculative_decoding"
MARK = "SpecDecoding metrics:"
LINE = re.compile(
    r"SpecDecoding metrics: (?:(?:[^,\n]*, )*?Drafted throughput: (?P<throughput>[\d.]+) "
    r"tokens/s, )?(?:[^,\n]*, )*?Accepted: (?P<accepted>\d+) tokens, Drafted: (?P<drafted>\d+) "
    r"tokens, Per-position acceptance rate: (?P<rates>\d\.\d{2,}(?:, \d\.\d{2,})*), Avg"
)
# The line before, of the same interval; the first version of the engine has no number.
_THROUGHPUT = re.compile(
    r"(?:Engine (?P<engine>\d+): )?Avg prompt throughput: [\d.]+ tokens/s, Avg generation "
    r"throughput: (?P<generated>[\d.]+) tokens/s, Running: (?P<running>\d+) reqs"
)
# A log's throughput counts each request's first token, which no step with drafts emits.
_FIRST_TOKENS = 0.2
_LINES = re.compile(f"{LINE.pattern}|{_THROUGHPUT.pattern}")
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
    page = MetricsPage(text, "vllm:")
    if _EMITTED not in page.sums or _FIRST not in page.sums:
        observation = page.observed(gamma, None, kind="vllm", turns_on=TURNS_ON, lists_all=True)
        return _over(observation, None)
    # All tokens but each request's first are timed.
    emitted = page.sums[_EMITTED] - page.sums[_FIRST]
    seconds = next((page.sums[name] for name in _WAITED if name in page.sums), 0.0)
    timed = times(seconds, emitted)
    observation = page.observed(gamma, timed, kind="vllm", turns_on=TURNS_ON, lists_all=True)
    return _over(observation, emitted)


def read_log(blocks: Iterable[str], _gamma: int | None) -> Observation:
    """Returns the sum of the counts in a log's lines; refuses incomplete lines and several γ.

    blocks: the log in blocks of whole lines.
    """
    version: re.Match[str] | None = None
    pair: re.Match[str] | None = None
    total, before, lines, paired = None, 0, list[LogInterval](), 0
    for block in blocks:
        version = version or VERSION.search(block)
        pair = pair or (_PAIR.search(block) if total is None else None)
        marked = 0
        for match in _LINES.finditer(block):
            if match["running"] is not None:
                speed = float(match["generated"])
                lines.append(LogInterval(match["engine"] or "", int(match["running"]), speed))
                continue
            marked += 1
            if int(match["drafted"]) > 0:
                one = _counted(match)
                speed = float(match["throughput"] or 0)
                if lines and lines[-1].length is None and speed > 0:  # of the same interval
                    emitted = lines[-1].tokens_per_second * one.drafted / speed
                    one = one.over_all_steps(emitted, slack=_FIRST_TOKENS)
                    paired += one.drafts
                    lines[-1] = lines[-1]._replace(length=one.block_efficiency)
                total = one if total is None else total + one
        if block.count(MARK) != marked:
            raise _unreadable(block, before)
        before += block.count("\n")
    if total is None:
        raise ValueError(f"a log of vLLM must have lines '{MARK} …' with drafts, got none")
    share = None if pair is None else named_share(pair[1], pair[2])
    named = None if version is None else version[1] or version[2]
    known = 2 * paired >= total.drafts
    timed = LogTimes.of(lines)
    return replace(total, version=named, draft_share=share, timed=timed, all_steps=known)


def _over(observation: Observation, emitted: float | None) -> Observation:
    """Returns counts over all steps, if the emitted tokens are known; vLLM's are over some."""
    if emitted is None or observation.drafts == 0:
        return replace(observation, all_steps=False)
    return observation.over_all_steps(emitted)


def _counted(match: re.Match[str]) -> Observation:
    """Returns the counts in a line of the log.

    Accepted and drafted tokens are exact. Rates are printed with three digits (two in some
    versions), so counts by position are exact to 0.05 % (0.5 %) of the drafts. If some blocks were
    short, the relative error of the number of drafts is at most 0.0005 γ / Σ rates (0.005 γ / Σ
    rates).
    """
    accepted, drafted = int(match["accepted"]), int(match["drafted"])
    printed = match["rates"].split(", ")
    gamma, unit = len(printed), 10 ** (len(printed[0]) - 2)
    rates = [round(float(rate) * unit) for rate in printed]
    # If every block may have drafted γ tokens, drafts are drafted over γ. Lookups often draft less.
    drafts = -(-drafted // gamma)
    if 2 * abs(drafts * sum(rates) - unit * accepted) > drafts * gamma:
        # Drafts are accepted over the sum of rates. If all rates round to 0, each is half a unit.
        inferred = round(unit * accepted / max(sum(rates), gamma / 2))
        drafts = min(max(inferred, drafts), drafted)
    return Observation(
        kind="vllm",
        origin="log",
        stated_gamma=gamma,
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        by_position=tuple(round(rate * drafts / unit) for rate in rates),
    )


def _unreadable(block: str, before: int) -> ValueError:
    """Returns the error for the first line that contains MARK but does not match LINE.

    before: number of the log's lines before the block.
    """
    lines = enumerate(block.split("\n"), start=before + 1)
    number, line = next(
        numbered for numbered in lines if numbered[1].count(MARK) != len(LINE.findall(numbered[1]))
    )
    return ValueError(
        "a line of vLLM's log must have accepted and drafted tokens and rates by position "
        f"to its end, got line {number} ending in {line[line.index(MARK) :][-80:]!r}: "
        "where it was cut short or wrapped, leave it out or save the log again (with rates "
        "only: 'specplan plan --acceptance-by-position')"
    )


def read_bench(result: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts and times of `vllm bench serve --save-result`; refuses missing counts.

    gamma: 0 if nothing was drafted; other values are ignored, because the result contains γ.
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
    counted = replace(
        plain,
        stated_gamma=len(rates),
        drafts=drafts,
        drafted=whole_number(result, "spec_decode_draft_tokens"),
        accepted=whole_number(result, "spec_decode_accepted_tokens"),
        by_position=tuple(round(float(rate) * drafts) for rate in rates),
    )
    return _over(counted, emitted_by_bench(result))


def read_answer(answer: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts of one answer, as one request; refuses contradictory counts.

    `--per-request-spec-decode-metrics summary|detailed` adds `metrics.speculative_decoding` to
    answers (pull request 48915). Only `detailed` adds arrays with a number for each block. They
    distinguish a short block that was accepted in full from a block with a rejected token.
    """
    metrics = answer.get("metrics")
    printed = metrics.get(_KEY) if isinstance(metrics, dict) else None
    if not isinstance(printed, dict):
        raise ValueError(
            f"an answer of vLLM must have metrics.{_KEY}, got none: "
            "--per-request-spec-decode-metrics turns it on, for requests of one sequence"
        )
    names = ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens", "num_spec_tokens")
    steps, drafted, accepted, most = (whole_number(printed, name) for name in names)
    histogram = _listed(printed, "acceptance_histogram")
    if sum(histogram) != steps or sum(j * n for j, n in enumerate(histogram)) != accepted:
        raise ValueError(
            f"acceptance_histogram must have {steps} steps with {accepted} accepted tokens, got "
            f"{list(histogram)}"
        )
    rejected = steps - histogram[-1] if histogram and drafted == most * steps else None
    if printed.get("per_step_accepted") is not None:  # null or missing without `detailed`
        hits, lengths = (_listed(printed, f"per_step_{name}") for name in ("accepted", "drafted"))
        if len(hits) != len(lengths) or sum(hits) != accepted or sum(lengths) != drafted:
            raise ValueError("per_step_accepted and per_step_drafted must add up to the totals")
        rejected = sum(hit < length for hit, length in zip(hits, lengths, strict=True))
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    emitted, prompt = usage.get("completion_tokens"), usage.get("prompt_tokens")
    counted = Observation(
        kind="vllm",
        origin="answers",
        stated_gamma=most if gamma is None else gamma,
        model=text_of(answer, "model"),
        drafts=steps,
        drafted=drafted,
        accepted=accepted,
        by_position=tuple(sum(histogram[j:]) for j in range(1, len(histogram))),
        rejected=rejected,
    )
    return _over(counted, emitted - 1 if isinstance(emitted, int) else None).of_one_request(
        prompt if isinstance(prompt, int) else None
    )


def _listed(printed: Mapping[str, Any], name: str) -> tuple[int, ...]:
    values = printed.get(name)
    if not isinstance(values, list):
        raise ValueError(f"{name} must be a list of whole numbers, got {values!r}")
    return tuple(whole_number({name: value}, name) for value in values)
