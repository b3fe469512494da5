"""Weights counted from configurations equal the published checkpoints' weights exactly.

published.json holds config values of checkpoints on the Hugging Face hub, and the totals of their
tensors as the hub states them there and public files quote them. Weights are counted as
transformers loads them: a tied matrix once, buffers not.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from estimator.model_shapes.counting import count
from estimator.model_shapes.drafts import draft_of
from estimator.model_shapes.kept_counts import count_once
from estimator.model_shapes.plain_decoders import plain_count
from estimator.model_shapes.shape import shape_of
from tests.estimator.by_depth import count_by_depth
from tests.simulator.known_shapes import cache_bytes_of, weights_of

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
CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
# Billions of parameters, all and active in one token, as the models' makers publish them, with how
# far apart a count may be: numbers are rounded, and Llama 4's include its vision part.
MADE = {
    "qwen3-8b": (8.2, None, 0.05),
    "qwen3-14b": (14.8, None, 0.05),
    "qwen3-32b": (32.8, None, 0.05),
    "qwen3-30b-a3b": (30.5, 3.3, 0.05),
    "gpt-oss-20b": (20.91, 3.61, 0.005),
    "gpt-oss-120b": (116.83, 5.13, 0.005),
    "llama-4-scout": (109, 17, 1.5),
    "llama-4-maverick": (400, 17, 1.0),
    "glm-4.5": (355, 32, 2.5),
    "glm-4.5-air": (106, 12, 1.0),
    "deepseek-v3": (671, 37, 0.6),
}
# Gigabytes of published checkpoints (12.8 and 60.8 GiB).
CHECKPOINTS = {"gpt-oss-20b": 12.8 * 2**30 / 1e9, "gpt-oss-120b": 60.8 * 2**30 / 1e9}
# DeepSeek-V3's own description of its layer of multi-token prediction: 11.5 billion of its own.
PREDICTING = {"deepseek-v3": 11.5e9}


@pytest.mark.parametrize("name", MADE)
def test_shipped_configurations_have_the_sizes_that_their_makers_publish(name: str) -> None:
    config = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))
    shape = shape_of(config, count=count_once)
    whole, active, apart = MADE[name]
    assert shape.parameters / 1e9 == pytest.approx(whole, abs=apart)
    if active is not None:
        # Makers count the output matrix and, some, the embedding.
        embedding = weights_of(shape, "embedding")
        found = (shape.active_parameters, shape.active_parameters + embedding)
        assert min(abs(each / 1e9 - active) for each in found) < max(apart, 0.06)
    if name in CHECKPOINTS:
        assert shape.weight_bytes / 1e9 == pytest.approx(CHECKPOINTS[name], rel=0.005)
    if name in PREDICTING:
        head = draft_of(config, target=config, target_shape=shape, count=count_once)
        assert head.step.parameters == pytest.approx(PREDICTING[name], rel=0.015)


def test_layers_of_local_attention_keep_their_window() -> None:
    caches = {}
    for name in ("gpt-oss-120b", "llama-4-scout"):
        config = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))
        found = shape_of(config, count=count_once).caches
        caches[name] = [(each.kind, each.layers, each.window) for each in found]
    assert caches == {
        "gpt-oss-120b": [("sliding", 18, 128), ("full", 18, None)],
        "llama-4-scout": [("chunked", 36, 8192), ("full", 12, None)],
    }


def test_there_are_25_architectures() -> None:
    assert len({entry["config"]["model_type"] for entry in PUBLISHED.values()}) >= 25


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_count_is_the_published_one(name: str) -> None:
    entry = PUBLISHED[name]
    config = {**entry["config"], "dtype": "bfloat16"}
    shape = shape_of(config, count=count if name in WHOLE else count_by_depth)
    if name in WHOLE:
        assert plain_count(config) in (None, count(config))
    assert shape.parameters == entry["parameters"]
    if name in CACHE:
        assert cache_bytes_of(shape) == CACHE[name]
    if name in ACTIVE:
        assert shape.active_parameters == ACTIVE[name]
