"""Shapes of models, and the sizes that their names state."""

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from simulator.cost.c_by_sizes import questions_c
from simulator.cost.cost import Ratio
from simulator.cost.roofline.shapes import Weights, named_share, named_size
from tests.simulator.known_shapes import LLAMA_8B, MIXTRAL, cache_bytes_of, dense, weights_of


def test_parameters_are_those_published() -> None:
    assert LLAMA_8B.parameters == 8_030_261_248
    assert MIXTRAL.parameters == 46_702_792_704


def test_the_input_embedding_is_looked_up_not_multiplied() -> None:
    assert LLAMA_8B.active_parameters == 8_030_261_248 - 4096 * 128256


def test_a_token_takes_the_experts_that_it_is_sent_to() -> None:
    # Published: 12.9e9 active parameters, the input embedding included.
    assert MIXTRAL.active_parameters + 4096 * 32000 == 12_879_925_248


def test_cache_grows_by_128_kib_a_token_in_llama_8b() -> None:
    assert cache_bytes_of(LLAMA_8B) == 128 * 1024


def test_borrowed_weights_are_read_and_not_held() -> None:
    borrowed = replace(dense("head", 1000), held=False)
    shape = replace(LLAMA_8B, weights=(dense("attention", 10), borrowed))
    assert shape.parameters == 10
    assert shape.weight_bytes == 20
    assert shape.active_parameters == 1010
    assert weights_of(shape, "head") == 1000


def test_stored_bytes_may_be_fewer_than_two_a_weight() -> None:
    quantised = Weights("attention", 1000, 1000 * 0.5195, "bfloat16")
    assert replace(LLAMA_8B, weights=(quantised,)).weight_bytes == 519.5


PUBLISHED = Path(__file__).parents[3] / "benchmarks" / "published_decoding.json"


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("Qwen/Qwen2.5-14B-Instruct", 14e9),
        ("/models/qwen2.5-0.5b-instruct-q8_0.gguf", 0.5e9),
        ("llama-2-7b.Q8_0.gguf", 7e9),
        ("opt-125m", 125e6),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", 3e9),
        ("Qwen2.5-7B-Instruct-1M", 7e9),
        ("/hub/models--Qwen--Qwen3-8B/snapshots/27dcfa74d334bc871f3234de431e71c6eeba5dd6", 8e9),
        ("mistralai/Mixtral-8x7B", None),
        ("yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", None),
        ("model-4bit", None),
        ("phi-3-mini-4k", None),
        (None, None),
    ],
)
def test_a_size_is_read_from_a_name(name: str | None, size: float | None) -> None:
    assert named_size(name) == size


def test_a_share_needs_both_sizes() -> None:
    assert named_share("Qwen2.5-14B", "Qwen2.5-0.5B") == pytest.approx(0.5 / 14)
    assert named_share("Qwen2.5-14B", "draft") is None
    assert named_share(None, "Qwen2.5-0.5B") is None


def _weights(model: dict[str, int]) -> float:
    """Returns the weights of a dense model that a pass over one token reads."""
    hidden, heads = model["hidden_size"], model["num_attention_heads"]
    width = model.get("head_dim", hidden // heads)
    keys = model.get("num_key_value_heads", heads) * width
    layer = 2 * hidden * (heads * width + keys) + 3 * hidden * model["intermediate_size"]
    return model["num_hidden_layers"] * layer + hidden * model["vocab_size"]


def test_no_published_pair_is_questioned() -> None:
    """28 pairs of dense models, each timed on one machine in one format, one sequence at a time."""
    published = json.loads(PUBLISHED.read_text())
    models = {
        name: _weights(model)
        for name, model in published["models"].items()
        if "hidden_size" in model and not {"num_experts", "num_local_experts"} & model.keys()
    }
    seconds: dict[tuple[object, ...], dict[str, float]] = {}
    for row in published["rows"]:
        if row["batch"] == 1 and not row["with_speculation"] and row["model"] in models:
            names = ("gpu", "tp", "dtype", "activations", "context", "source")
            setting = tuple(row[name] for name in names)
            seconds.setdefault(setting, {})[row["model"]] = 1 / row["tokens_per_second"]
    pairs = [
        (models[small] / models[large], found[small] / found[large])
        for found in seconds.values()
        for small, large in permutations(found, 2)
        if models[small] < models[large]
    ]
    assert len(pairs) == 28
    assert not [c for share, c in pairs if questions_c(Ratio(c).with_setting(draft_share=share))]
    ratios = [c / share for share, c in pairs]
    assert (min(ratios), max(ratios)) == pytest.approx((1.07, 5.41), abs=0.05)
    # A much narrower range would question some.
    assert [share for share, c in pairs if c > (3 * share + 0.25) / 2]
