"""Metrics pages in Prometheus' text format: vLLM's, llama.cpp's and SGLang's.

SGLang counts target passes of blocks and generated tokens, the first of each request being the
prompt's; what is accepted by position it does not tell. Read from its source, never from a server.
"""

from __future__ import annotations

from collections import defaultdict

from engines.counting.counters import counters
from engines.observing.observation import Kind, Observation

TURNS_ON = {
    "vllm": "--speculative-config",
    "llama.cpp": "a draft model (--model-draft, with --spec-type draft-simple)",
    "sglang": "--speculative-algorithm (and --enable-metrics)",
}
PREFIXES: dict[str, Kind] = {"vllm": "vllm", "llamacpp": "llama.cpp", "sglang": "sglang"}
CALLS, GENERATED, REQUESTS = "spec_verify_calls", "generation_tokens", "num_requests"
STEPS, LENGTH = "spec_num_steps", "spec_accept_length"


def kind_of_page(page: str) -> Kind | None:
    """Returns whose metrics a page has; None: no engine's that is known."""
    for prefix, kind in PREFIXES.items():
        if f"\n{prefix}:" in f"\n{page}" or f" {prefix}:" in page:
            return kind
    return None


def read_page(page: str, *, gamma: int | None) -> Observation:
    """Returns what a metrics page counts since its server started.

    Args:
      page: of vLLM, llama.cpp or SGLang; several engines behind one page are summed.
      gamma: drafted tokens per block, where the user says it.

    Raises:
      ValueError: if it is another page, or speculation is off: which metric is missing, and what
        turns it on.
    """
    kind = kind_of_page(page)
    if kind is None:
        raise ValueError(
            "a metrics page must be vLLM's, llama.cpp's or SGLang's, got none of their metrics"
        )
    if kind == "sglang":
        return _sglang(page, gamma)
    prefix = "vllm" if kind == "vllm" else "llamacpp"
    counts = counters(page, prefix=prefix, turns_on=TURNS_ON[kind])
    model, began = _labels(page, prefix)
    # vLLM lists every position; llama.cpp those that were accepted once.
    told = len(counts.accepted) if kind == "vllm" else None
    return Observation(
        kind,
        "metrics",
        told if gamma is None else gamma,
        counts.drafts,
        counts.drafted,
        counts.accepted_tokens,
        counts.accepted,
        model=model,
        began=began,
    )


def _labels(page: str, prefix: str) -> tuple[str | None, float | None]:
    """Returns the model that a page names, if it names one, and when its counters began."""
    from prometheus_client.parser import text_string_to_metric_families

    models, began = set(), []
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if sample.name.startswith(f"{prefix}:spec_decode_num_drafts"):
                models.add(sample.labels.get("model_name"))
                if sample.name.endswith("_created"):
                    began.append(sample.value)
    model = models.pop() if len(models) == 1 else None
    return model, max(began, default=None)


def _sglang(page: str, gamma: int | None) -> Observation:
    from prometheus_client.parser import text_string_to_metric_families

    totals: dict[str, float] = defaultdict(float)
    gauges: dict[str, float] = {}
    models = set()
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            name = sample.name.removeprefix("sglang:").removesuffix("_total")
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
            else f"speculation is off; {TURNS_ON['sglang']} turns it on"
        )
        raise ValueError(f"metrics must have sglang:{CALLS}_total, got none: {hint}")
    calls = round(totals[CALLS])
    length_of_draft = gamma if STEPS not in gauges else round(gauges[STEPS])
    if length_of_draft is None:
        raise ValueError("gamma must be given where a page lacks sglang:spec_num_steps, got none")
    return Observation(
        "sglang",
        "metrics",
        length_of_draft,
        calls,
        calls * length_of_draft,
        round(totals[GENERATED] - totals[REQUESTS]) - calls,
        model=models.pop() if len(models) == 1 else None,
    )
