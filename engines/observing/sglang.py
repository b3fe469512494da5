"""SGLang's metrics page: it counts target passes of blocks and generated tokens, no positions."""

from __future__ import annotations

from collections import defaultdict

from engines.counting.counters import samples
from engines.observing.observation import Observation

TURNS_ON = "--speculative-algorithm (and --enable-metrics)"
CALLS, GENERATED, REQUESTS = "spec_verify_calls", "generation_tokens", "num_requests"
STEPS, LENGTH = "spec_num_steps", "spec_accept_length"


def read_page(page: str, gamma: int | None) -> Observation:
    """Returns what a metrics page counts since its server started.

    The first token of each request is the prompt's.

    Args:
      page: several engines behind one page are summed.
      gamma: drafted tokens per block, where the page does not tell it.

    Raises:
      ValueError: if a metric is missing, or nothing tells γ.
    """
    totals: dict[str, float] = defaultdict(float)
    gauges: dict[str, float] = {}
    models = set()
    for sample in samples(page, "sglang"):
        name = sample.name.removesuffix("_total")
        if name in (CALLS, GENERATED, REQUESTS):
            totals[name] += sample.value
            models.add(sample.labels.get("model_name"))
        elif name in (STEPS, LENGTH):
            gauges[name] = sample.value
    if CALLS not in totals:
        length = gauges.get(LENGTH, 0.0)
        hint = (
            f"its last block efficiency alone is known: plan --block-efficiency {length:g} "
            "--at-gamma G"
            if length > 0
            else f"speculation is off; {TURNS_ON} turns it on"
        )
        raise ValueError(f"metrics must have sglang:{CALLS}_total, got none: {hint}")
    calls = round(totals[CALLS])
    steps = gamma if STEPS not in gauges else round(gauges[STEPS])
    if steps is None:
        raise ValueError("gamma must be given where a page lacks sglang:spec_num_steps, got none")
    return Observation(
        kind="sglang",
        origin="metrics",
        stated_gamma=steps,
        drafts=calls,
        drafted=calls * steps,
        accepted=round(totals[GENERATED] - totals[REQUESTS]) - calls,
        model=models.pop() if len(models) == 1 else None,
    )
