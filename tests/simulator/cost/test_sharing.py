"""Tensor, data and expert parallelism: times, exchanges, memory and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.cost.roofline.deployment import most_batch, needed_bytes
from simulator.cost.roofline.experts import busiest_experts
from simulator.cost.roofline.forward import forward_seconds, memory_bytes
from simulator.cost.roofline.hardware import find_hardware
from simulator.cost.roofline.shapes import Weights
from simulator.cost.roofline.sharing import Conditions, all_to_all_seconds
from tests.simulator.known_shapes import LLAMA_8B
from tests.simulator.served_machines import SERVED

H200 = find_hardware("h200")
ROUTED = Weights("experts", 32 * 64 * 3 * 4096 * 512, 2e10, "fp8", experts=64, active=4)
MIXTURE = replace(LLAMA_8B, weights=(*LLAMA_8B.weights, ROUTED))
SIZES = {"new_tokens": 2, "context": 1000}


def test_replicas_of_a_dense_model_take_the_time_of_their_share_of_the_batch() -> None:
    one = forward_seconds(LLAMA_8B, H200, batch=[4, 5], **SIZES)
    four = forward_seconds(LLAMA_8B, H200, batch=[16, 17], conditions=Conditions(dp=4), **SIZES)
    assert four == pytest.approx(one)


def test_replicas_of_a_mixture_divide_its_experts_and_send_tokens_to_them() -> None:
    shared = Conditions(dp=8)
    bare = replace(MIXTURE, layers=0)
    alone = forward_seconds(LLAMA_8B, H200, batch=4, **SIZES)
    experts = replace(MIXTURE, layers=0, weights=(ROUTED,), caches=())
    every = forward_seconds(experts, H200, batch=32, **SIZES) / 8
    assert forward_seconds(bare, H200, batch=32, conditions=shared, **SIZES) == pytest.approx(
        alone + every
    )
    # 8 tokens of a GPU, each to 4 experts: 1 byte a value there, 2 back.
    sent = all_to_all_seconds(H200, size=8 * 4 * 4096 * 3, gpus=8)
    assert forward_seconds(MIXTURE, H200, batch=32, conditions=shared, **SIZES) == pytest.approx(
        alone + every + 32 * sent
    )


def test_tokens_beyond_a_server_take_the_network_except_in_a_rack() -> None:
    eight, nine = (all_to_all_seconds(H200, size=1e8, gpus=gpus) for gpus in (8, 9))
    assert nine > 5 * eight
    rack = find_hardware("gb200")
    eight, nine = (all_to_all_seconds(rack, size=1e8, gpus=gpus) for gpus in (8, 9))
    assert nine == pytest.approx(eight, rel=0.02)


def test_the_fullest_part_reads_about_as_many_experts_as_in_simulated_choices() -> None:
    generator = np.random.default_rng(0)
    for tokens, ep in ((4, 8), (16, 8), (64, 8), (16, 16)):
        parts, distinct = [], []
        for _ in range(200):
            chosen = {
                each for _ in range(tokens) for each in generator.choice(256, 8, replace=False)
            }
            distinct.append(len(chosen))
            counts = np.bincount([each * ep // 256 for each in chosen], minlength=ep)
            parts.append(counts.max())
        most = busiest_experts(np.mean(distinct), experts=256, ep=ep) / ep
        assert most == pytest.approx(np.mean(parts), rel=0.2)
    assert busiest_experts(256.0, experts=256, ep=8) == 256
    assert busiest_experts(8.0, experts=256, ep=1) == 8


def test_each_gpu_holds_its_part_of_experts_and_the_whole_of_all_else() -> None:
    both = memory_bytes(MIXTURE, context=1000, batch=16, conditions=Conditions(dp=8, ep=8))
    dense = memory_bytes(LLAMA_8B, context=1000, batch=2)
    assert both == pytest.approx(dense + ROUTED.stored_bytes / 8)
    halved = memory_bytes(MIXTURE, context=1000, batch=16, conditions=Conditions(tp=2, dp=4))
    caches = dense - LLAMA_8B.weight_bytes
    rest = LLAMA_8B.weight_bytes / 2 + caches
    assert halved == pytest.approx(rest + ROUTED.stored_bytes / 8)


def test_the_largest_batch_fills_every_replica() -> None:
    deployment = replace(SERVED.deployment, hardware=H200, conditions=Conditions(dp=4))
    most = most_batch(deployment, context=1000)
    memory = H200.memory_bytes
    assert needed_bytes(deployment, context=1000, batch=most) <= memory
    assert needed_bytes(deployment, context=1000, batch=most + 1) > memory
    alone = replace(SERVED.deployment, hardware=H200)
    assert most == 4 * most_batch(alone, context=1000)


def test_parts_that_gpus_or_experts_do_not_allow_are_refused() -> None:
    with pytest.raises(ValueError, match="ep must divide the tp × dp = 8 GPUs, got 3"):
        Conditions(tp=2, dp=4, ep=3)
    with pytest.raises(ValueError, match="dp must be at least 1, got 0"):
        Conditions(dp=0)
    with pytest.raises(ValueError, match=r"ep must be 1 on .*, which has no experts, got 2"):
        replace(SERVED.deployment, target=LLAMA_8B, conditions=Conditions(dp=2, ep=2))
    with pytest.raises(ValueError, match=r"ep must be at most the 64 experts of .*, got 128"):
        replace(SERVED.deployment, target=MIXTURE, conditions=Conditions(dp=128, ep=128))
    with pytest.raises(ValueError, match="dp must be 1 on l4, which has no known link"):
        all_to_all_seconds(replace(find_hardware("l4"), link_bandwidth=None), size=1, gpus=2)
