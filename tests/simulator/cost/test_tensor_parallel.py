"""Several GPUs: how they divide a model, and the cost of their all-reduces."""

from dataclasses import replace

import pytest
from known_shapes import LLAMA_8B

from simulator.cost.roofline.forward import (
    Conditions,
    all_reduce_seconds,
    cache_share,
    forward_seconds,
    memory_bytes,
    require_division,
)
from simulator.cost.roofline.hardware import find_hardware

H100 = find_hardware("h100")


def test_two_gpus_halve_the_pass_but_for_two_all_reduces_a_layer() -> None:
    alone = float(forward_seconds(LLAMA_8B, H100, new_tokens=1, context=512, batch=8))
    shared = float(
        forward_seconds(
            LLAMA_8B, H100, new_tokens=1, context=512, batch=8, conditions=Conditions(tp=2)
        )
    )
    agreeing = float(all_reduce_seconds(H100, values=8 * 4096, gpus=2))
    assert shared == pytest.approx(alone / 2 + 64 * agreeing, rel=1e-12)


def test_an_all_reduce_is_latency_and_twice_the_vector_over_the_link() -> None:
    # Eight GPUs: 7/8 of the vector goes out, and 7/8 of the sum comes back.
    seconds = float(all_reduce_seconds(H100, values=1e9, gpus=8))
    assert seconds == pytest.approx(6e-6 + 2 * 7 / 8 * 2e9 / 450e9, rel=1e-12)


def test_one_gpu_has_nobody_to_agree_with() -> None:
    assert float(all_reduce_seconds(find_hardware("m1"), values=1e6, gpus=1)) == 0


def test_weights_and_heads_are_dealt_out() -> None:
    alone, shared = (memory_bytes(LLAMA_8B, context=1000, batch=4, tp=tp) for tp in (1, 4))
    assert float(shared) == float(alone) / 4


def test_more_gpus_than_key_value_heads_hold_copies() -> None:
    cache = LLAMA_8B.caches[0]
    assert [cache_share(cache, tp) for tp in (1, 2, 8, 16)] == [1, 1 / 2, 1 / 8, 1 / 8]


def test_a_latent_cache_is_held_by_every_gpu() -> None:
    assert cache_share(replace(LLAMA_8B.caches[0], kind="latent", shards=1), 8) == 1


def test_gpus_that_do_not_divide_the_heads_are_refused() -> None:
    with pytest.raises(ValueError, match=r"tp must divide the 32 heads of LlamaFor.*, got 3"):
        require_division(LLAMA_8B, 3)


def test_gpus_without_a_link_are_refused() -> None:
    with pytest.raises(ValueError, match="tp must be 1 on m4-max, which has no known link, got 2"):
        all_reduce_seconds(find_hardware("m4-max"), values=1, gpus=2)
