"""Passes by the roofline against sums by hand: weights, experts, caches, several GPUs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.cost.roofline.experts import distinct_experts
from simulator.cost.roofline.forward import forward_flops, forward_seconds, memory_bytes
from simulator.cost.roofline.hardware import find_hardware
from simulator.cost.roofline.shapes import CacheLayers, ModelShape
from simulator.cost.roofline.sharing import Conditions, all_reduce_seconds, cache_share
from tests.simulator.known_shapes import LLAMA_8B, MIXTRAL, weights_of

H100 = find_hardware("h100")
READ = 2 * LLAMA_8B.active_parameters


def test_one_token_without_context_costs_two_operations_a_weight() -> None:
    flops = float(forward_flops(LLAMA_8B, new_tokens=1, context=0, batch=1))
    attention_to_itself = 4 * 32 * 32 * 128
    assert flops == 2 * LLAMA_8B.active_parameters + attention_to_itself


def test_flops_of_a_block_are_those_of_its_tokens_one_by_one() -> None:
    # "The same amount of FLOPs" (Kim et al. 2023, §3.2), attention included.
    block = float(forward_flops(LLAMA_8B, new_tokens=5, context=100, batch=3))
    one_by_one = forward_flops(LLAMA_8B, new_tokens=1, context=100 + np.arange(5), batch=3)
    assert block == pytest.approx(float(one_by_one.sum()), rel=1e-12)


def test_a_single_sequence_is_bound_by_reading_the_weights() -> None:
    seconds = float(forward_seconds(LLAMA_8B, H100, new_tokens=1, context=0, batch=1))
    weights = READ / 3.35e12
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


def moved_bytes(shape: ModelShape, **sizes: Any) -> NDArray[np.float64]:
    """Returns what a pass reads and writes: its seconds where a byte takes one."""
    return forward_seconds(shape, replace(H100, bandwidth=1.0), **sizes)


def test_bytes_are_the_weights_and_every_cache() -> None:
    moved = float(moved_bytes(LLAMA_8B, new_tokens=1, context=999, batch=4))
    assert moved == READ + 4 * 1000 * 128 * 1024


def test_memory_holds_the_input_embedding_too() -> None:
    held = float(memory_bytes(LLAMA_8B, context=1000, batch=4))
    assert held == 2 * LLAMA_8B.parameters + 4 * 1000 * 128 * 1024


def test_time_is_never_less_for_more() -> None:
    sizes = np.array([1, 2, 3, 8, 64, 300])
    more = {"new_tokens": sizes[:, None, None], "context": 1000 * sizes[:, None]}
    seconds = forward_seconds(LLAMA_8B, H100, **more, batch=sizes)
    assert seconds.shape == (6, 6, 6)
    assert all((np.diff(seconds, axis=axis) >= 0).all() for axis in range(3))


def test_half_the_efficiency_is_twice_the_time() -> None:
    sizes: dict[str, Any] = {"new_tokens": [1, 4], "context": 512, "batch": [1, 300]}
    full = forward_seconds(LLAMA_8B, H100, **sizes)
    half = forward_seconds(LLAMA_8B, H100, **sizes, conditions=Conditions(efficiency=0.5))
    assert half == pytest.approx(2 * full, rel=1e-12)


def test_a_pass_reads_the_experts_that_its_tokens_are_sent_to() -> None:
    one, block = moved_bytes(MIXTRAL, new_tokens=[1, 5], context=0, batch=1)
    of_experts = 2 * weights_of(MIXTRAL, "experts") / 8
    more = distinct_experts(5, experts=8, active=2) - 2
    assert block - one == pytest.approx(of_experts * more + 4 * 128 * 1024, rel=1e-12)


def test_verification_is_dear_for_a_mixture_even_alone() -> None:
    # ... where a dense model's is free: five tokens are sent to six of eight experts, not two.
    mixture, dense = (
        np.diff(np.log(forward_seconds(shape, H100, new_tokens=[1, 5], context=512, batch=1)))
        for shape in (MIXTRAL, LLAMA_8B)
    )
    assert mixture > np.log(2) > 100 * dense


def test_routing_that_agrees_makes_a_mixture_like_a_dense_model() -> None:
    agreeing = Conditions(expert_reuse=1.0)
    one, block = forward_seconds(
        MIXTRAL, H100, new_tokens=[1, 5], context=512, batch=1, conditions=agreeing
    )
    assert block / one < 1.01


def test_arithmetic_of_a_mixture_is_that_of_its_active_experts() -> None:
    flops = float(forward_flops(MIXTRAL, new_tokens=1, context=0, batch=1))
    assert flops == 2 * MIXTRAL.active_parameters + 4 * 32 * 32 * 128


def windowed(window: int) -> CacheLayers:
    return replace(LLAMA_8B.caches[0], kind="sliding", window=window)


def test_a_window_is_read_and_kept_however_long_the_text() -> None:
    shape = replace(LLAMA_8B, caches=(windowed(512),))
    moved = moved_bytes(shape, new_tokens=[1, 4], context=100_000, batch=2)
    assert moved.tolist() == [READ + 2 * tokens * 128 * 1024 for tokens in (512, 515)]
    kept = memory_bytes(shape, context=[100, 512, 100_000], batch=1) - shape.weight_bytes
    assert kept.tolist() == [tokens * 128 * 1024 for tokens in (100, 512, 512)]


def test_an_indexer_reads_a_window_of_a_cache_that_is_kept_whole() -> None:
    shape = replace(LLAMA_8B, caches=(replace(windowed(512), kind="indexed"),))
    assert float(moved_bytes(shape, new_tokens=1, context=9999, batch=1)) == READ + 2**26
    kept = float(memory_bytes(shape, context=9999, batch=1)) - shape.weight_bytes
    assert kept == 9999 * 128 * 1024


def test_a_state_is_read_once_and_written_after_every_token() -> None:
    state = CacheLayers("linear", 10, 0.0, 1000.0, None, 50.0, 1)
    shape = replace(LLAMA_8B, caches=(state,))
    for context in (0, 5000):
        assert float(moved_bytes(shape, new_tokens=3, context=context, batch=2)) == (
            READ + 2 * 10 * 1000 * 4
        )
    assert float(memory_bytes(shape, context=5000, batch=2)) == shape.weight_bytes + 20_000


def test_layers_that_share_a_cache_read_and_do_not_keep_it() -> None:
    own = LLAMA_8B.caches[0]
    shape = replace(LLAMA_8B, caches=(own, replace(own, layers=8, held=False)))
    moved = float(moved_bytes(shape, new_tokens=1, context=99, batch=1))
    assert moved == READ + 100 * 160 * 1024
    assert float(memory_bytes(shape, context=100, batch=1)) == (
        shape.weight_bytes + 100 * 128 * 1024
    )


@pytest.mark.parametrize(
    ("experts", "active", "tokens"), [(8, 2, 1), (8, 2, 5), (128, 8, 5), (128, 8, 64), (256, 8, 9)]
)
def test_expected_experts_are_those_of_routing_at_random(
    experts: int, active: int, tokens: int
) -> None:
    rng = np.random.default_rng(0)
    passes = 4000
    scores = rng.random((passes, tokens, experts))
    chosen = np.argpartition(scores, active - 1, axis=-1)[..., :active]
    hit = np.zeros((passes, experts), dtype=bool)
    np.put_along_axis(hit, chosen.reshape(passes, -1), True, axis=-1)
    counts = hit.sum(axis=-1)
    error = counts.std() / np.sqrt(passes)
    # 4.4 standard errors: a false alarm in 1e5 runs for each case, of which one (m = 1) is exact.
    expected = float(distinct_experts(tokens, experts=experts, active=active))
    assert abs(counts.mean() - expected) <= 4.4 * error + 1e-9


def test_popular_experts_are_those_of_exponential_rates() -> None:
    # Each token reaches an expert whose rate is x (mean 1) with 1 - exp(-x k / (E - k)).
    draws = np.random.default_rng(48).exponential(size=200_000)
    tokens = np.array([1, 5, 40, 300])
    missed = np.exp(-np.outer(tokens, draws) * 4 / 124).mean(axis=1)
    read = distinct_experts(tokens, experts=128, active=4, popular=True)
    assert read == pytest.approx(128 * (1 - missed), rel=0.01)
    assert (read <= distinct_experts(tokens, experts=128, active=4) + 1e-9).all()
    all_read = distinct_experts([0, 1, 9], experts=8, active=8, popular=True)
    assert all_read == pytest.approx([0, 8, 8])


def test_tokens_read_between_the_experts_of_one_and_all_of_them() -> None:
    read = distinct_experts([0, 1, 5, 10_000], experts=128, active=8)
    assert read[[0, 1, 3]] == pytest.approx([0, 8, 128], rel=1e-12)
    full = distinct_experts([0, 1, 5, 100], experts=128, active=8, reuse=1.0)
    assert full == pytest.approx([0, 8, 8, 8], rel=1e-12)
    assert 8 < float(distinct_experts(5, experts=128, active=8, reuse=0.4)) < read[2]
    assert float(distinct_experts(3, experts=2, active=2)) == 2


def test_two_gpus_halve_the_pass_but_for_two_all_reduces_a_layer() -> None:
    alone = float(forward_seconds(LLAMA_8B, H100, new_tokens=1, context=512, batch=8))
    sizes: dict[str, Any] = {"new_tokens": 1, "context": 512, "batch": 8}
    shared = float(forward_seconds(LLAMA_8B, H100, **sizes, conditions=Conditions(tp=2)))
    agreeing = float(all_reduce_seconds(H100, values=8 * 4096, gpus=2))
    assert shared == pytest.approx(alone / 2 + 64 * agreeing, rel=1e-12)


def test_an_all_reduce_is_latency_and_twice_the_vector_over_the_link() -> None:
    # Eight GPUs: 7/8 of the vector goes out, and 7/8 of the sum comes back.
    seconds = float(all_reduce_seconds(H100, values=1e9, gpus=8))
    assert seconds == pytest.approx(6e-6 + 2 * 7 / 8 * 2e9 / 450e9, rel=1e-12)

    assert float(all_reduce_seconds(find_hardware("m1"), values=1e6, gpus=1)) == 0


def test_weights_and_heads_are_dealt_out_and_a_latent_cache_is_held_by_every_gpu() -> None:
    alone, shared = (
        memory_bytes(LLAMA_8B, context=1000, batch=4, conditions=Conditions(tp=tp)) for tp in (1, 4)
    )
    assert float(shared) == float(alone) / 4
    cache = LLAMA_8B.caches[0]
    # More GPUs than key-value heads hold copies.
    assert [cache_share(cache, tp) for tp in (1, 2, 8, 16)] == [1, 1 / 2, 1 / 8, 1 / 8]
    assert cache_share(replace(cache, kind="latent", shards=1), 8) == 1


def test_an_all_reduce_across_servers_pays_the_network_for_its_part() -> None:
    """Two servers of eight: a ring inside each, then pairs of GPUs sum an eighth each."""
    inside = float(all_reduce_seconds(H100, values=1e6, gpus=8))
    both = float(all_reduce_seconds(H100, values=1e6, gpus=16))
    assert both - inside == pytest.approx(40e-6 + 2 * (1 / 2) * (2e6 / 8) / 50e9)
    assert float(all_reduce_seconds(H100, values=1e6, gpus=32)) > both
    rack = find_hardware("gb200")
    assert rack.link_bandwidth is not None
    ring = 2 * 15 / 16 * 2e6 / rack.link_bandwidth
    alone = float(all_reduce_seconds(rack, values=1e6, gpus=16))
    assert alone == pytest.approx(rack.link_latency_seconds + ring)
