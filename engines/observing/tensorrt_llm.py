"""Reads TensorRT-LLM's metrics page: drafted and accepted tokens by position, and times.

The names are in tensorrt_llm/metrics/collector.py at commit 050f80def8df (2026). A
server with `return_perf_metrics: true` shows them at /prometheus/metrics.
"""

from dataclasses import replace

from engines.counting import times
from engines.observing.observation import Observation
from engines.observing.printed import MetricsPage

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
