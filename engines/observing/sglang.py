"""SGLang's metrics page and bench: numbers of target passes and of tokens, no positions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engines.counting import times
from engines.observing.observation import Observation
from engines.observing.printed import MetricsPage, number, timed_bench, whole_number

TURNS_ON = "--speculative-algorithm (and --enable-metrics)"
CALLS, GENERATED, REQUESTS = "spec_verify_calls", "generation_tokens", "num_requests"
# A histogram that counts tokens, each request's first left out.
WAITED, EMITTED = "inter_token_latency_seconds_sum", "inter_token_latency_seconds_count"
STEPS, LENGTH = "spec_num_steps", "spec_accept_length"


def read_page(text: str, gamma: int | None) -> Observation:
    """Returns the counts on a metrics page since the server's start.

    The first token of each request comes from the pass over its prompt and is not counted.

    gamma: drafted tokens per block, if the page does not state them; 0: no drafts.
    """
    page = MetricsPage(text, "sglang")
    totals, timed = page.sums, times(page.sums[WAITED], page.sums[EMITTED])
    plain = Observation(kind="sglang", origin="metrics", timed=timed)
    if gamma == 0 and CALLS not in totals:
        return plain
    if CALLS not in totals:
        length = page.last.get(LENGTH, 0.0)
        hint = (
            f"only its last block efficiency is known: plan --block-efficiency {length:g} "
            "--at-gamma G"
            if length > 0
            else f"speculation is off; {TURNS_ON} turns it on"
        )
        raise ValueError(f"metrics must have sglang:{CALLS}_total, got none: {hint}")
    calls = round(totals[CALLS])
    steps = round(page.last[STEPS]) if STEPS in page.last else gamma
    if steps is None:
        raise ValueError("gamma must be given where a page lacks sglang:spec_num_steps, got none")
    accepted = round(totals[GENERATED] - totals[REQUESTS]) - calls
    return replace(_counted(plain, steps, calls, accepted), model=page.model)


def read_bench(result: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts in a line of `sglang.bench_serving --output-file`.

    Counts follow from the number of tokens and the server's mean accepted length.

    gamma: drafted tokens per block, if the result does not state them; 0: no drafts.
    """
    plain = Observation(kind="sglang", origin="bench", timed=timed_bench(result))
    length = number(result, "accept_length")
    if gamma == 0 and length == 0:
        return plain
    if length < 1:
        raise ValueError(
            f"accept_length must be at least 1, got {length:g}: speculation is off; {TURNS_ON} "
            "turns it on"
        )
    server = result.get("server_info")
    steps = server.get("speculative_num_steps") if isinstance(server, Mapping) else None
    steps = gamma if steps is None else steps
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(f"gamma must be given as at least 1 with accept_length, got {steps}")
    if length > steps + 1:
        raise ValueError(f"accept_length must be at most {steps + 1}, gamma + 1, got {length:g}")
    tokens = whole_number(result, "total_output_tokens") - whole_number(result, "completed")
    drafts = round(tokens / length)
    return _counted(plain, steps, drafts, tokens - drafts)


def _counted(plain: Observation, gamma: int, drafts: int, accepted: int) -> Observation:
    drafted = drafts * gamma
    return replace(plain, stated_gamma=gamma, drafts=drafts, drafted=drafted, accepted=accepted)
