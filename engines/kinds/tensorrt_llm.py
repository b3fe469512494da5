"""TensorRT-LLM: specplan writes its configuration and reads its metrics page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engines.kind import Drafted, EngineKind, Exports, PrintedCounts, methods_of, never_zero
from simulator.cost.setting import Wall

if TYPE_CHECKING:
    from simulator.choice.schedule import Range

_FLOOR = """\
# Above its last batch a schedule drafts 0. While it does, the draft's cache is not written, and
# acceptance stays low for every request that was running (pull request 16888, open in September
# 2026). So the schedule has 1 for 0, and its last batch should be max_batch_size."""


def _config(decoding_type: str, **settings: object) -> str:
    """Returns the part of TensorRT-LLM's configuration file that turns speculation on."""
    return "\n".join(
        (
            "# in the file of --config:",
            "speculative_config:",
            f"  decoding_type: {decoding_type}",
            *(f"  {name}: {value}" for name, value in settings.items()),
        )
    )


def _drafting(draft: Drafted, **settings: object) -> str:
    model = {} if draft.file is None else {"speculative_model": draft.file}
    return _config(methods_of("tensorrt-llm")[draft.kind], **model, **settings)


def _fixed(gamma: int, draft: Drafted, *_: object) -> str:
    return _drafting(draft, max_draft_len=gamma)


def _schedule(ranges: Sequence[Range], draft: Drafted) -> str:
    lengths = {part.last_batch: part.gamma for part in never_zero(ranges)}
    return f"{_FLOOR}\n" + _drafting(
        draft,
        max_draft_len=max(lengths.values()),
        draft_len_schedule="{" + ", ".join(f"{b}: {g}" for b, g in lengths.items()) + "}",
    )


def _lookup(gamma: int, _shortest: int, longest: int) -> str:
    return _config("NGram", max_draft_len=gamma, max_matching_ngram_size=longest)


KIND = EngineKind(
    name="tensorrt-llm",
    title="TensorRT-LLM",
    prints=(
        PrintedCounts(
            "metrics", ("trtllm_",), "tensorrt_llm:read_page", page="/prometheus/metrics"
        ),
        PrintedCounts("JSON", ("decoding_stats",), "tensorrt_llm:read_report", "trtllm-bench"),
    ),
    exports=Exports(
        "DraftTarget", _fixed, draft_sampling="argmax", schedule=_schedule, lookup=_lookup
    ),
    wall=Wall(
        "requests",
        128,
        "cuda_graph_config.max_batch_size",
        "tensorrt_llm/llmapi/llm_args.py, validate_cuda_graph_config (1.x, 2025-26)",
    ),
)
