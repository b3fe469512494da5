"""Times from the shapes of models and the roofs of hardware."""

from typing import Any

import numpy as np
import pytest

from simulator.cost.curves import CostModel
from simulator.cost.hardware import find_hardware
from simulator.cost.model_shape import ModelShape
from simulator.cost.roofline import (
    forward_bytes,
    forward_flops,
    forward_seconds,
    memory_bytes,
    roofline_cost,
)

LLAMA_8B = ModelShape(
    layers=32,
    hidden=4096,
    intermediate=14336,
    heads=32,
    kv_heads=8,
    head_dim=128,
    vocabulary=128256,
    dtype="bfloat16",
    gated=True,
    tied_embeddings=False,
)
LLAMA_1B = ModelShape(
    layers=16,
    hidden=2048,
    intermediate=8192,
    heads=32,
    kv_heads=8,
    head_dim=64,
    vocabulary=128256,
    dtype="bfloat16",
    gated=True,
    tied_embeddings=True,
)
H100 = find_hardware("h100")


def test_one_token_without_context_costs_two_operations_a_weight() -> None:
    flops = float(forward_flops(LLAMA_8B, new_tokens=1, context=0, batch=1))
    attention_to_itself = 4 * 32 * 32 * 128
    assert flops == 2 * LLAMA_8B.matrix_parameters + attention_to_itself


def test_flops_of_a_block_are_those_of_its_tokens_one_by_one() -> None:
    # "The same amount of FLOPs" (Kim et al. 2023, §3.2), attention included.
    block = float(forward_flops(LLAMA_8B, new_tokens=5, context=100, batch=3))
    one_by_one = forward_flops(LLAMA_8B, new_tokens=1, context=100 + np.arange(5), batch=3)
    assert block == pytest.approx(float(one_by_one.sum()), rel=1e-12)


def test_a_single_sequence_is_bound_by_reading_the_weights() -> None:
    seconds = float(forward_seconds(LLAMA_8B, H100, new_tokens=1, context=0, batch=1))
    weights = LLAMA_8B.matrix_parameters * 2 / 3.35e12
    assert seconds == pytest.approx(weights, rel=1e-4)


def test_verification_is_nearly_free_for_one_sequence() -> None:
    # The premise of Leviathan et al. 2023, §3.4.
    one, eight = forward_seconds(LLAMA_8B, H100, new_tokens=[1, 8], context=512, batch=1)
    assert 1 <= eight / one < 1.001


def test_verification_is_paid_for_by_the_token_once_arithmetic_binds() -> None:
    one, eight = forward_seconds(LLAMA_8B, H100, new_tokens=[1, 8], context=0, batch=2000)
    assert eight / one == pytest.approx(8, rel=1e-3)


def test_long_contexts_make_attention_the_cost_and_verification_free_again() -> None:
    short, long = forward_seconds(
        LLAMA_8B, H100, new_tokens=8, context=[128, 32768], batch=128
    ) / forward_seconds(LLAMA_8B, H100, new_tokens=1, context=[128, 32768], batch=128)
    assert long < 1.2 < short


def test_bytes_are_the_weights_and_every_cache() -> None:
    moved = float(forward_bytes(LLAMA_8B, new_tokens=1, context=999, batch=4))
    assert moved == 2 * LLAMA_8B.matrix_parameters + 4 * 1000 * 128 * 1024


def test_memory_holds_the_input_embedding_too() -> None:
    held = float(memory_bytes(LLAMA_8B, context=1000, batch=4))
    assert held == 2 * LLAMA_8B.parameters + 4 * 1000 * 128 * 1024
    assert LLAMA_8B.parameters - LLAMA_8B.matrix_parameters == 4096 * 128256


def test_time_is_never_less_for_more() -> None:
    sizes = np.array([1, 2, 3, 8, 64, 300])
    seconds = forward_seconds(
        LLAMA_8B,
        H100,
        new_tokens=sizes[:, None, None],
        context=1000 * sizes[:, None],
        batch=sizes,
    )
    assert seconds.shape == (6, 6, 6)
    assert all((np.diff(seconds, axis=axis) >= 0).all() for axis in range(3))


def test_launching_layers_makes_a_small_draft_dearer_than_its_size_says() -> None:
    bare = roofline_cost(LLAMA_8B, LLAMA_1B, H100, context=512)
    launched = roofline_cost(LLAMA_8B, LLAMA_1B, H100, context=512, layer_overhead_seconds=5e-5)
    sizes = LLAMA_1B.matrix_parameters / LLAMA_8B.matrix_parameters
    assert bare.c == pytest.approx(sizes, rel=0.02)
    assert launched.c > bare.c + 0.05


def test_the_cost_model_holds_the_roofline_times() -> None:
    cost = roofline_cost(LLAMA_8B, LLAMA_1B, H100, context=512, batch=16, max_gamma=4)
    assert isinstance(cost, CostModel)
    expected = forward_seconds(LLAMA_8B, H100, new_tokens=np.arange(1, 6), context=512, batch=16)
    assert cost.verify_seconds(np.arange(1, 6)).tolist() == expected.tolist()
    assert cost.draft_seconds == float(
        forward_seconds(LLAMA_1B, H100, new_tokens=1, context=512, batch=16)
    )


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"new_tokens": 0}, "new_tokens must be at least 1, got 0"),
        ({"context": -1}, "context must be at least 0, got -1"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"batch": 1.5}, "batch must be an integer, got 1.5"),
        ({"new_tokens": [1, 2], "batch": [1, 2, 3]}, "broadcast together"),
        ({"layer_overhead_seconds": -1e-6}, "layer_overhead_seconds must be .* at least 0"),
    ],
)
def test_sizes_out_of_range_are_refused(sizes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"new_tokens": 1, "context": 10, "batch": 1} | sizes
    with pytest.raises(ValueError, match=message):
        forward_seconds(LLAMA_8B, H100, **arguments)


def test_a_format_the_hardware_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="got bfloat16"):
        roofline_cost(LLAMA_8B, LLAMA_1B, find_hardware("t4"), context=512)
