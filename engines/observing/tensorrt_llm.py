"""Reads TensorRT-LLM's metrics page and the report of trtllm-bench: drafted and accepted tokens.

The names on the page, which has times, too, are in tensorrt_llm/metrics/collector.py at commit
050f80def8df (2026). A server with `return_perf_metrics: true` shows them at /prometheus/metrics.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engines.counting import times
from engines.observing.observation import Observation
from engines.observing.printed import MetricsPage, number, text_of

_DRAFTED, _ACCEPTED = "spec_decode_drafted_tokens", "spec_decode_accepted_tokens"
# Each finished request adds the time between its first token and its last.
_SECONDS, _FIRST = "request_decode_time_seconds_sum", "time_to_first_token_seconds_count"


def read_page(text: str, gamma: int | None) -> Observation:
    """Returns the counts of finished requests since the server's start.

    A step that drafts adds 1 to the drafted tokens of its first position.

    gamma: drafted tokens per block as the user states it; 0: no drafts; None: the page's positions.
    """
    page = MetricsPage(text, "trtllm_")
    emitted = page.sums["generation_tokens"] - page.sums[_FIRST]
    plain = Observation(
        kind="tensorrt-llm",
        origin="metrics",
        model=page.model,
        timed=times(page.sums[_SECONDS], emitted),
    )
    drafted = page.by_position(_DRAFTED)
    if gamma == 0 and not drafted:
        return plain
    if not drafted:
        raise ValueError(
            f"metrics must have trtllm_{_DRAFTED}_total, got none: speculative_config turns "
            "speculation on, return_perf_metrics turns the counters on"
        )
    accepted = (*page.by_position(_ACCEPTED), *(0,) * len(drafted))[: len(drafted)]
    counted = replace(
        plain,
        stated_gamma=len(drafted) if gamma is None else gamma,
        drafts=drafted[0],
        drafted=sum(drafted),
        accepted=sum(accepted),
        by_position=accepted,
        all_steps=False,
    )
    return counted if emitted <= 0 else counted.over_all_steps(emitted)


def read_report(report: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts in `trtllm-bench --report_json`, whose averages are over its requests.

    tensorrt_llm/bench/dataclasses/reporting.py counts γ drafted tokens for each iteration, and as
    accepted the output tokens beyond one for each. The first iteration reads the prompt: its token
    is no block's. Its latencies include prompts and waiting, so no time of a token is read.

    gamma: drafted tokens per block, which must be the report's own.
    """
    requests, stats = report.get("request_info"), report.get("decoding_stats")
    if not isinstance(requests, Mapping):
        raise ValueError("a report of trtllm-bench must have request_info, got none")
    if not isinstance(stats, Mapping) or stats.get("num_draft_tokens_percentiles") is None:
        raise ValueError("decoding_stats must have counts, got none: speculation was off")
    drafted, accepted = (
        number(stats[f"num_{name}_tokens_percentiles"], "average")
        for name in ("draft", "accepted_draft")
    )
    iterations = number(requests, "avg_output_length") - accepted
    length = drafted / iterations if iterations > 0 else 0.0
    if abs(length - round(length)) > 1e-3 * length or gamma not in (None, round(length)):
        raise ValueError(f"gamma must be the report's drafted tokens per iteration, {length:.4g}")
    count = number(requests, "num_requests")
    drafts = round(count * (iterations - 1))
    engine = report.get("engine", {})
    return Observation(
        kind="tensorrt-llm",
        origin="bench",
        version=text_of(engine, "version"),
        model=text_of(engine, "model"),
        stated_gamma=round(length),
        drafts=drafts,
        drafted=round(length) * drafts,
        accepted=round(count * accepted),
    )
