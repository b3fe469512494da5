"""A target and a draft deployed: costs of blocks by the roofline, and memory."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.cost.curves import CostModel
from simulator.cost.roofline.deployment import (
    Deployment,
    draft_overhead_share,
    draft_pass_seconds,
    needed_bytes,
    operations_ratio,
    prompt_seconds,
    roofline_cost,
)
from simulator.cost.roofline.forward import forward_seconds
from simulator.cost.roofline.hardware import find_hardware
from simulator.cost.roofline.sharing import Conditions
from tests.simulator.known_shapes import LLAMA_1B, LLAMA_8B, model_draft

H100 = find_hardware("h100")
PAIR = Deployment(LLAMA_8B, model_draft(LLAMA_1B), H100)
PARALLEL = replace(PAIR, draft=replace(PAIR.draft, kind="Medusa", parallel=True))


def test_launching_layers_makes_a_small_draft_dearer_than_its_size_says() -> None:
    launching = replace(PAIR, conditions=Conditions(layer_overhead_seconds=5e-5))
    bare, launched = (roofline_cost(each, context=512) for each in (PAIR, launching))
    sizes = LLAMA_1B.active_parameters / LLAMA_8B.active_parameters
    assert bare.c == pytest.approx(sizes, rel=0.02)
    assert launched.c > bare.c + 0.05


def test_the_cost_model_holds_the_roofline_times() -> None:
    cost = roofline_cost(PAIR, context=512, batch=16, max_gamma=4)
    assert isinstance(cost, CostModel)
    expected = forward_seconds(LLAMA_8B, H100, new_tokens=np.arange(1, 6), context=512, batch=16)
    assert cost.verify_seconds(np.arange(1, 6)).tolist() == expected.tolist()
    assert cost.draft_seconds == float(
        forward_seconds(LLAMA_1B, H100, new_tokens=1, context=512, batch=16)
    )


def test_a_token_by_token_draft_has_the_same_price_for_each_token() -> None:
    cost = roofline_cost(PAIR, context=512)
    assert cost.drafting_seconds([1, 2, 7]) == pytest.approx(
        cost.draft_seconds * np.array([1, 2, 7]), rel=1e-12
    )


def test_a_parallel_draft_takes_one_pass() -> None:
    cost = roofline_cost(PARALLEL, context=512, max_gamma=8)
    expected = forward_seconds(LLAMA_1B, H100, new_tokens=np.arange(1, 10), context=512, batch=1)
    assert cost.drafting_seconds(np.arange(1, 10)).tolist() == expected.tolist()


def test_work_of_once_per_block_is_priced_once() -> None:
    once = replace(LLAMA_1B.weights[0], values=10**8, stored_bytes=2e8)
    cost = roofline_cost(replace(PAIR, draft=replace(PAIR.draft, once=(once,))), context=512)
    first, second = cost.drafting_seconds([1, 2])
    assert first - cost.draft_seconds == pytest.approx(2e8 / 3.35e12, rel=1e-9)
    assert second - first == pytest.approx(cost.draft_seconds, rel=1e-9)


def test_operations_of_the_draft_are_compared_with_the_targets() -> None:
    ratio = operations_ratio(PAIR, context=0)
    assert ratio == pytest.approx(1.2358e9 / 7.505e9, rel=1e-3)


def test_memory_is_that_of_both_models() -> None:
    needed = needed_bytes(PAIR, context=1000, batch=4)
    both = LLAMA_8B.weight_bytes + LLAMA_1B.weight_bytes
    assert needed == both + 4 * 1000 * (128 + 32) * 1024


def test_a_replicated_draft_takes_its_memory_on_each_gpu() -> None:
    def needed(draft_tp: int) -> float:
        shared = replace(PAIR, conditions=Conditions(tp=4), draft_tp=draft_tp)
        return needed_bytes(shared, context=0, batch=1)

    assert needed(1) - needed(4) == pytest.approx(0.75 * LLAMA_1B.weight_bytes, rel=1e-12)


def test_memory_limits_are_known_before_a_run() -> None:
    most = (80e9 - PAIR.target.weight_bytes - PAIR.draft.held_bytes) / (160 * 1024 * 8192)
    assert needed_bytes(PAIR, context=8192, batch=int(most)) <= PAIR.hardware.memory_bytes
    assert needed_bytes(PAIR, context=8192, batch=int(most) + 1) > PAIR.hardware.memory_bytes


def test_overhead_of_layers_is_a_share_of_a_draft_step() -> None:
    # Llama 3.2 1B on an H100: 2.47 GB at 3.35 TB/s, 0.74 ms, plus 16 layers of 100 us.
    slow = replace(PAIR, conditions=Conditions(layer_overhead_seconds=1e-4))
    share = draft_overhead_share(slow, context=0, batch=1)
    assert share == pytest.approx(1.6 / (1.6 + 0.738), rel=0.01)
    assert draft_overhead_share(slow, context=0, batch=4096) < 0.5 * share
    assert draft_overhead_share(PAIR, context=0, batch=1) == 0


def test_passes_over_several_tokens_are_those_of_the_drafts_own_gpus() -> None:
    conditions = Conditions(tp=4, layer_overhead_seconds=1e-4)
    apart = replace(PAIR, conditions=conditions, draft_tp=1)
    found = draft_pass_seconds(apart, context=2048, batch=8, widest=7)
    expected = forward_seconds(
        LLAMA_1B, H100, new_tokens=np.arange(1, 8), context=2048, batch=8,
        conditions=replace(conditions, tp=1),
    )  # fmt: skip
    assert list(found) == list(range(1, 8))
    assert list(found.values()) == pytest.approx(expected)


def test_a_prompt_multiplies_the_output_matrix_by_its_last_token_only() -> None:
    peak = H100.flops("bfloat16")
    for shape, times in ((LLAMA_8B, 0), (LLAMA_1B, 1)):
        body = sum(each.active_values for each in shape.multiplied if each.kind != "head")
        seconds = [prompt_seconds(PAIR, n) for n in (4000, 8000)]
        own = [both - plain if times else plain for plain, both in seconds]
        # Products of 4,000 further tokens, and attention of all to all before them.
        attention = shape.caches[0].layers * shape.caches[0].operations * (8000**2 - 4000**2) / 2
        further = (2 * 4000 * body + attention) / peak
        assert own[1] - own[0] == pytest.approx(further, rel=1e-3)
