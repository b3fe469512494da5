"""Weights counted from configurations equal the published checkpoints' weights exactly.

published.json holds config values of checkpoints on the Hugging Face hub, and the totals of their
tensors as the hub states them there and public files quote them. Weights are counted as
transformers loads them: a tied matrix once, buffers not.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from by_depth import count_by_depth

from estimator.model_shapes.kept_counts import known_count
from estimator.model_shapes.shape import count, shape_of

PUBLISHED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "published.json").read_text(encoding="utf-8")
)
# Bytes a token of one sequence in 16 bits: layers that cache all tokens, times key-value heads,
# times twice the head's width; DeepSeek's latent pair of 512 + 64 values in each of 61 layers.
CACHE = {
    "Llama-3.1-8B": 32 * 8 * 2 * 128 * 2,
    "Llama-3.3-70B": 80 * 8 * 2 * 128 * 2,
    "Qwen3-30B-A3B": 48 * 4 * 2 * 128 * 2,
    "Qwen3-Next-80B-A3B": 12 * 2 * 2 * 256 * 2,
    "gemma-2b": 18 * 1 * 2 * 256 * 2,
    "DeepSeek-V3": 61 * (512 + 64) * 2,
    "LFM2-1.2B": 6 * 8 * 2 * 64 * 2,
}
# Active parameters as public counts have them, the input embedding left out.
ACTIVE = {
    "Mixtral-8x7B": 12_879_925_248 - 4096 * 32000,
    "Qwen3-30B-A3B": 3_353_032_704 - 2048 * 151936,
    "DeepSeek-V3": 36_625_603_584,
}
# Layers that differ, and the deepest and one with experts of those whose layers are alike.
WHOLE = {
    "DeepSeek-V2-Lite", "DeepSeek-V3", "LFM2-1.2B", "Llama-3.3-70B", "Qwen3-30B-A3B",
    "Qwen3-Next-80B-A3B", "SmolLM3-3B", "gemma-2-2b", "gemma-3-1b", "gpt-oss-20b",
}  # fmt: skip


def test_there_are_25_architectures() -> None:
    assert len({entry["config"]["model_type"] for entry in PUBLISHED.values()}) >= 25


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_count_is_the_published_one(name: str) -> None:
    entry = PUBLISHED[name]
    config = {**entry["config"], "dtype": "bfloat16"}
    shape = shape_of(config, count=count if name in WHOLE else count_by_depth)
    if name in WHOLE:
        assert known_count(config) in (None, count(config))
    assert shape.parameters == entry["parameters"]
    if name in CACHE:
        assert shape.cache_bytes_per_token == CACHE[name]
    if name in ACTIVE:
        assert shape.active_parameters == ACTIVE[name]
