"""Metrics pages as engines print them, with counts of one's choice."""

from collections.abc import Sequence
from typing import Any


def vllm_page(
    drafts: int, accepted: Sequence[int], *, engine: int = 0, began: float = 1.7953e9
) -> str:
    """Returns vLLM's page of a model whose γ is how many positions are given."""
    labels = f'engine="{engine}",model_name="M"'
    name = "vllm:spec_decode_num"
    positions = "\n".join(
        f'{name}_accepted_tokens_per_pos_total{{{labels},position="{position}"}} {hits}.0'
        for position, hits in enumerate(accepted)
    )
    return (
        "# HELP vllm:num_requests_running Number of requests in model execution batches.\n"
        "# TYPE vllm:num_requests_running gauge\n"
        f"vllm:num_requests_running{{{labels}}} 0.0\n"
        f"# HELP {name}_drafts_total Number of spec decoding drafts.\n"
        f"# TYPE {name}_drafts_total counter\n"
        f"{name}_drafts_total{{{labels}}} {drafts}.0\n"
        f"# TYPE {name}_drafts_created gauge\n"
        f"{name}_drafts_created{{{labels}}} {began!r}\n"
        f"# TYPE {name}_draft_tokens_total counter\n"
        f"{name}_draft_tokens_total{{{labels}}} {drafts * len(accepted)}.0\n"
        f"# TYPE {name}_accepted_tokens_total counter\n"
        f"{name}_accepted_tokens_total{{{labels}}} {sum(accepted)}.0\n"
        f"# TYPE {name}_accepted_tokens_per_pos_total counter\n"
        f"{positions}\n"
    )


def vllm_times(*, seconds: float, emitted: int, requests: int) -> str:
    """Returns what vLLM's page has of time: a step counts once however many tokens it emits."""
    labels = 'engine="0",model_name="M"'
    itl, ttft = "vllm:inter_token_latency_seconds", "vllm:time_to_first_token_seconds"
    return (
        f"# TYPE vllm:generation_tokens_total counter\n"
        f"vllm:generation_tokens_total{{{labels}}} {emitted}.0\n"
        f"# TYPE {ttft} histogram\n"
        f'{ttft}_bucket{{{labels},le="+Inf"}} {requests}.0\n'
        f"{ttft}_count{{{labels}}} {requests}.0\n{ttft}_sum{{{labels}}} 0.5\n"
        f"# TYPE {itl} histogram\n"
        f'{itl}_bucket{{{labels},le="+Inf"}} 100.0\n'
        f"{itl}_count{{{labels}}} 100.0\n{itl}_sum{{{labels}}} {seconds!r}\n"
    )


def llama_cpp_page(drafts: int, drafted: int, accepted: Sequence[int]) -> str:
    """Returns llama.cpp's page, which lists positions that were accepted once."""
    name = "llamacpp:spec_decode_num"
    positions = "\n".join(
        f'{name}_accepted_tokens_per_pos_total{{position="{position}"}} {hits}'
        for position, hits in enumerate(accepted)
    )
    return (
        f"# TYPE {name}_drafts_total counter\n{name}_drafts_total {drafts}\n"
        f"# TYPE {name}_draft_tokens_total counter\n{name}_draft_tokens_total {drafted}\n"
        f"# TYPE {name}_accepted_tokens_per_pos_total counter\n{positions}\n"
    )


def llama_cpp_times(*, seconds: float, tokens: int) -> str:
    """Returns what llama.cpp's page has of time."""
    name = "llamacpp:tokens_predicted"
    return (
        f"# TYPE {name}_total counter\n{name}_total {tokens}\n"
        f"# TYPE {name}_seconds_total counter\n{name}_seconds_total {seconds!r}\n"
    )


def sglang_times(*, seconds: float, tokens: int) -> str:
    """Returns what SGLang's page has of time: its histogram counts tokens."""
    labels = 'engine_type="unified",model_name="M"'
    itl = "sglang:inter_token_latency_seconds"
    return (
        f"# TYPE {itl} histogram\n"
        f'{itl}_bucket{{{labels},le="+Inf"}} {tokens}.0\n'
        f"{itl}_count{{{labels}}} {tokens}.0\n{itl}_sum{{{labels}}} {seconds!r}\n"
    )


def sglang_page(*, calls: int, generated: int, requests: int, steps: int | None = 3) -> str:
    """Returns SGLang's page of chains of `steps` drafted tokens."""
    labels = '{engine_type="unified",model_name="M",tp_rank="0"}'
    told = "" if steps is None else f"sglang:spec_num_steps{labels} {steps}.0\n"
    return (
        f"# TYPE sglang:generation_tokens_total counter\n"
        f"sglang:generation_tokens_total{labels} {generated}.0\n"
        f"# TYPE sglang:num_requests_total counter\n"
        f"sglang:num_requests_total{labels} {requests}.0\n"
        f"# TYPE sglang:spec_verify_calls_total counter\n"
        f"sglang:spec_verify_calls_total{labels} {calls}.0\n"
        f"# TYPE sglang:spec_num_steps gauge\n{told}"
    )


LOG = """\
(APIServer pid=1) INFO 11-21 22:41:29 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with x
(APIServer pid=1) INFO 11-21 22:42:26 [loggers.py:9] Engine 000: Avg generation throughput: 38.5
(APIServer pid=1) INFO 11-21 22:42:26 [metrics.py:120] SpecDecoding metrics: Mean acceptance \
length: 2.00, Accepted throughput: 10.00 tokens/s, Drafted throughput: 30.00 tokens/s, Accepted: \
100 tokens, Drafted: 300 tokens, Per-position acceptance rate: 0.600, 0.300, 0.100, Avg Draft \
acceptance rate: 33.3%
(APIServer pid=1) INFO 11-21 22:42:36 [metrics.py:120] SpecDecoding metrics: Mean acceptance \
length: 1.50, Accepted throughput: 2.50 tokens/s, Drafted throughput: 15.00 tokens/s, Accepted: \
25 tokens, Drafted: 150 tokens, Per-position acceptance rate: 0.400, 0.100, 0.000, Avg Draft \
acceptance rate: 16.7%
"""
BENCH = """{"backend": "openai", "model_id": "M", "completed": 8,
"total_output_tokens": 408, "max_concurrency": 4, "mean_tpot_ms": 5.0, "median_tpot_ms": 4.8,
"spec_decode_acceptance_rate": 33.3, "spec_decode_acceptance_length": 2.0,
"spec_decode_num_drafts": 200,
"spec_decode_draft_tokens": 600, "spec_decode_accepted_tokens": 200,
"spec_decode_per_position_acceptance_rates": [0.6, 0.3, 0.1]}"""
SGLANG_BENCH = """{"backend": "sglang", "dataset_name": "random", "max_concurrency": 4,
"completed": 8, "total_output_tokens": 408, "mean_e2e_latency_ms": 260.0,
"mean_tpot_ms": 4.0, "median_tpot_ms": 3.9, "concurrency": 3.9, "accept_length": 2.5}"""
ANSWER = """{"content": "x", "timings": {"prompt_n": 5, "predicted_n": 65, "predicted_ms": 320.0,
"predicted_per_second": 203.1, "draft_n": 90, "draft_n_accepted": 34}}"""


def vllm_answer(
    accepted: list[int], drafted: list[int], most: int, *, detailed: bool
) -> dict[str, Any]:
    """Returns an answer as vLLM writes it with --per-request-spec-decode-metrics."""
    found = {
        "mean_acceptance_length": 1 + sum(accepted) / max(1, len(accepted)),
        "draft_acceptance_rate": sum(accepted) / max(1, sum(drafted)),
        "acceptance_histogram": [accepted.count(j) for j in range(most + 1)],
        "num_spec_steps": len(accepted),
        "num_accepted_draft_tokens": sum(accepted),
        "num_draft_tokens": sum(drafted),
        "num_spec_tokens": most,
    }
    if detailed:
        found |= {"per_step_accepted": accepted, "per_step_drafted": drafted}
    return {"model": "m", "choices": [], "metrics": {"speculative_decoding": found}}
