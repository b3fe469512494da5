"""vLLM: the user's own installation, with its speculation settings in one JSON object."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engines.kind import (
    EARLIEST,
    Drafted,
    EngineKind,
    Exports,
    PrintedCounts,
    later,
    methods_of,
    never_zero,
)
from simulator.cost.setting import Wall
from simulator.cost.zero import ReportedZero

if TYPE_CHECKING:
    from simulator.choice.schedule import Range

_ADAPTIVE = (
    "# with enable_adaptive_verification vLLM verifies of each block what the load allows: no "
    "fixed gamma describes that"
)
_SCHEDULED = """\
# A schedule needs vLLM 0.24 (pull request 32374). Above the last range vLLM keeps its number; with
# data parallelism the number is always num_speculative_tokens. Set VLLM_USE_V2_MODEL_RUNNER=0: the
# second model runner drafts num_speculative_tokens at every batch size (issue 51510), and does not
# start with MTP (48494, 48329). The first one has piecewise CUDA graphs only: one report lost 14 %
# at batch 1 (49548). All of these were open in September 2026."""
_NO_ZERO = """\
# The plan has 0 from batch {batch} on, and 1 is written here: with 0, 232 tokens/s fell to 24 at
# the edge of the range (49548), and DSpark does not start (pull request 47737)."""
_UNTESTED = "# vLLM tests schedules with EAGLE, EAGLE-3 and DFlash; others may not work."
# `DraftSampleMethod` in vllm/config/speculative.py (commit 002e77c1f0ef, 2026); greedy by default.
_SAMPLE_METHODS = {"argmax": "greedy", "sampled": "probabilistic"}
_TESTED = ("eagle", "eagle3", "dflash")
# Times per token of a schedule that never drafts, and of a server without speculation: 15.317 and
# 14.374 ms at 2 requests, 93.820 and 77.164 ms at 189 (H100 NVL, vLLM 0.27.1, a comment on issue
# 49548 of 24 August 2026, MTP). Other reports: 4 to 11 % (issue 53420, MTP), 31 % (49986).
_REPORTED = ReportedZero(
    ratios=((2, 15.317 / 14.374), (189, 93.820 / 77.164)),
    low=1.04,
    high=1.31,
    source="reports of vLLM, most with MTP: issues 49548, 49986 and 53420",
)


def _flag(config: Mapping[str, object]) -> str:
    return f"--speculative-config {shlex.quote(json.dumps(config))}"


def _config(gamma: int, draft: Drafted) -> dict[str, object]:
    """Returns the JSON object of vLLM's --speculative-config that drafts at most γ tokens."""
    config: dict[str, object] = {"method": methods_of("vllm")[draft.kind]}
    if draft.file is not None:
        config["model"] = draft.file
    config["num_speculative_tokens"] = gamma
    if draft.sampling is not None:
        config["draft_sample_method"] = _SAMPLE_METHODS[draft.sampling]
    if draft.head is not None and draft.head.parallel_drafting:
        config["parallel_drafting"] = True
    return config


def _fixed(gamma: int, draft: Drafted, verification: str | None, _p_min: float | None) -> str:
    config = _config(gamma, draft)
    if verification == "block":
        config["rejection_sample_method"] = "block"
    in_part = draft.head is not None and draft.head.drafts_blocks
    return f"{_ADAPTIVE}\n" * in_part + _flag(config)


def _schedule(ranges: Sequence[Range], draft: Drafted) -> str:
    config = _config(max(part.gamma for part in ranges), draft)
    drafting = never_zero(ranges)
    config["num_speculative_tokens_per_batch_size"] = [
        [part.first_batch, part.last_batch, part.gamma] for part in drafting
    ]
    first = next((part.first_batch for part in ranges if part.gamma == 0), None)
    comments = [_SCHEDULED, *([] if first is None else [_NO_ZERO.format(batch=first)])]
    comments += [] if config["method"] in _TESTED else [_UNTESTED]
    return "\n".join([*comments, _flag(config)])


def _lookup(gamma: int, shortest: int, longest: int) -> str:
    lengths = {"prompt_lookup_max": longest, "prompt_lookup_min": shortest}
    return _flag({"method": "ngram", "num_speculative_tokens": gamma, **lengths})


def _suffix(gamma: int, depth: int, earlier: bool) -> str:
    # With `earlier`: outputs of as many requests as vLLM keeps by default.
    sizes = {"suffix_decoding_max_tree_depth": depth}
    sizes |= {} if earlier else {"suffix_decoding_max_cached_requests": 0}
    return _flag({"method": "suffix", "num_speculative_tokens": gamma, **sizes})


_CONTROLLER = (
    '"enable_adaptive_verification": true in --speculative-config (DSpark; releases since 0.32), '
    "with VLLM_ADAPTIVE_VERIFICATION_PROFILE_CONTEXT_LEN at your usual context: its step times "
    "are profiled at 8192 tokens"
)


KIND = EngineKind(
    name="vllm",
    title="vLLM",
    start=later("engines.servers.vllm:Vllm.of_models"),
    connect=later("engines.servers.vllm:VllmServer"),
    takes=frozenset({"engine_command", "synthetic"}),
    drafts_past_end=True,
    acceptance="engine",
    in_turn=True,
    prints=(
        PrintedCounts("metrics", ("vllm:",), "vllm:read_page", version_page="/version"),
        PrintedCounts("log", ("SpecDecoding metrics:",), "vllm:read_log"),
        PrintedCounts(
            "JSON", ("spec_decode_num_drafts", "model_id"), "vllm:read_bench", "vllm bench serve"
        ),
        PrintedCounts(
            "JSON", ("spec_decode_acceptance",), "benches:read_aiperf_record", "AIPerf's requests"
        ),
        PrintedCounts("JSON", ("aiperf_version",), "benches:read_aiperf", "AIPerf"),
        PrintedCounts("JSON", ("benchmarks",), "benches:read_guidellm", "GuideLLM"),
        PrintedCounts(
            "JSON", ("input_config.subcommand",), "benches:read_genai_perf", "genai-perf"
        ),
        PrintedCounts("JSON", ("metrics",), "vllm:read_answer", "vLLM's answers"),
    ),
    # Its `draft_sample_method` says how it drafts.
    exports=Exports(
        "draft_model",
        _fixed,
        draft_sampling=None,
        judges_blocks=True,
        schedule=_schedule,
        zero=_REPORTED,
        controller=_CONTROLLER,
        lookup=_lookup,
        lookup_rule=EARLIEST,
        suffix=_suffix,
        # It fails unless the number is constant, as lookups on the GPU and suffix decoding do
        # (pull request 46399, open in June 2026).
        unscheduled=frozenset({"medusa"}),
    ),
    # min(max_num_seqs · (K + 1) · 2, 512), which 256 sequences and more (the default) reach.
    wall=Wall(
        "tokens",
        512,
        "--max-cudagraph-capture-size",
        "vllm/config/vllm.py, _set_cudagraph_sizes (2026)",
    ),
)
