"""Counts from a configuration equal counts of the model that transformers builds."""

from typing import Any

import pytest

from estimator.model_shapes.counting import count
from estimator.model_shapes.kept_counts import count_once
from estimator.model_shapes.plain_decoders import WITHOUT_SIZE, plain_count
from tests.estimator.model_shapes.test_kept_counts import CHANGED, SMALL

TIED = {"tie_word_embeddings": True}
# Entries of a configuration in addition to SMALL, by family.
COVERED: list[tuple[str, dict[str, Any]]] = [
    ("llama", {}),
    ("llama", TIED),
    ("llama", {"head_dim": 32, "attention_bias": True}),
    ("llama", {"mlp_bias": True, "num_key_value_heads": 4, "head_dim": None}),
    ("mistral", {}),
    ("mistral", {"sliding_window": 16, "head_dim": 8}),
    ("mistral", {"sliding_window": None, "num_key_value_heads": 1}),
    ("qwen2", {}),
    ("qwen2", {"layer_types": ["full_attention"] * 2}),
    ("qwen2", {"use_sliding_window": False, "sliding_window": 16, **TIED}),
    ("qwen3", {}),
    ("qwen3", {"attention_bias": True, "head_dim": 32, "sliding_window": None}),
    ("qwen3", {"use_sliding_window": False, "num_hidden_layers": 3, **TIED}),
]
KEPT = [(), ("lm_head", r"(^|\.)layers\.1\.mlp"), (r"q_proj$",)]


@pytest.mark.parametrize("part", ["whole", "last layer"])
@pytest.mark.parametrize("kept", KEPT, ids=["all", "some", "one"])
@pytest.mark.parametrize(("family", "entries"), COVERED)
def test_counts_are_those_of_the_built_model(
    family: str, entries: dict[str, Any], kept: tuple[str, ...], part: Any
) -> None:
    config = {**SMALL, "model_type": family, **entries}
    counted = plain_count(config, kept, part)
    assert counted is not None
    assert counted == count(config, kept, part)


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "qwen3"])
def test_entries_without_a_size_change_no_count(family: str) -> None:
    config = {**SMALL, "model_type": family}
    assert set(CHANGED) == WITHOUT_SIZE
    assert plain_count(config | CHANGED) == plain_count(config) == count(config | CHANGED)


@pytest.mark.parametrize(
    "entries",
    [
        {"model_type": "olmo2"},
        {"model_type": ["llama"]},
        {"new": 1},
        {"vocab_size": None},
        {"vocab_size": 100.0},
        {"num_hidden_layers": True},
        {"num_hidden_layers": 0},
        {"num_hidden_layers": 10**9},
        {"hidden_size": 60},
        {"hidden_size": 66},
        {"head_dim": 15},
        {"num_key_value_heads": 3},
        {"tie_word_embeddings": None},
        {"sliding_window": 16},
        {"model_type": "qwen3", "layer_types": ["full_attention", "sliding_attention"]},
        {"model_type": "qwen3", "layer_types": ["full_attention"]},
        {"model_type": "qwen3", "head_dim": None},
        {"model_type": "qwen2", "attention_bias": True},
        {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 16},
    ],
    ids=str,
)
def test_unusual_entries_are_left_to_transformers(entries: dict[str, Any]) -> None:
    assert plain_count({**SMALL, **entries}) is None


@pytest.mark.parametrize("name", ["hidden_size", "num_key_value_heads", "intermediate_size"])
def test_a_size_that_is_not_stated_is_left_to_transformers(name: str) -> None:
    assert plain_count({key: value for key, value in SMALL.items() if key != name}) is None


def test_a_plain_decoder_is_counted_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = count(SMALL)
    monkeypatch.setattr("estimator.model_shapes.kept_counts.count", None)
    assert count_once(SMALL) == expected
