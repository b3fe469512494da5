"""Costs of blockwise parallel decoding."""

from typing import Any

import numpy as np
import pytest

from figures.published import published_grid
from simulator.acceptance.tokens import expected_tokens
from simulator.cost.curves import CostModel
from studies.blockwise.cost import (
    block_efficiency,
    break_even_efficiency,
    cache_bytes_per_token,
    flops_per_token,
    parallel_improvement,
    parameter_bytes_per_token,
)


def test_equal_acceptance_is_a_capped_geometric_law() -> None:
    # h heads draft h - 1 tokens beyond the target's own: Eq. 1 of Leviathan et al. with γ = h - 1.
    assert float(block_efficiency(np.full(8, 0.7))) == pytest.approx(
        float(expected_tokens(0.7, 8))
    )


def test_a_head_counts_only_if_all_before_it_were_right() -> None:
    assert float(block_efficiency([0.5, 0.0, 1.0])) == 1.5
    assert float(block_efficiency([0.5, 0.4, 0.25])) == pytest.approx(1 + 0.5 + 0.2 + 0.05)


def test_certain_heads_emit_the_whole_block() -> None:
    assert block_efficiency(np.ones(8)) == 9


def test_a_target_without_heads_emits_one_token() -> None:
    assert block_efficiency([]) == 1


def test_efficiency_of_many_tasks_at_once() -> None:
    acceptance = np.array([[0.5, 0.5], [0.9, 0.1]])
    assert block_efficiency(acceptance).tolist() == pytest.approx([1.75, 1.99])


@pytest.mark.parametrize(
    "method", ["base", "4-gram", "neural-61M", "parallel base", "parallel 4-gram"]
)
def test_table_11_averages_table_4(method: str) -> None:
    # Printed to three decimals from inputs printed to two; Table 4's neural column is of 61M.
    column = "neural" if method == "neural-61M" else method
    tasks = [row[column] for row in published_grid("blockwise-table4").values()]
    printed = published_grid("blockwise-table11")[method]["block_efficiency"]
    assert np.mean(tasks) == pytest.approx(printed, abs=5.1e-4)


def test_parameters_are_read_once_for_the_block() -> None:
    assert float(parameter_bytes_per_token(3e9, block_efficiency=1.5)) == 2e9


def test_autoregressive_decoding_reads_the_cache_of_the_context() -> None:
    moved = cache_bytes_per_token(100.0, context=512, drafts=0, heads=9, block_efficiency=1.0)
    assert moved == 51200


def test_each_draft_adds_its_tokens_to_the_cache_traffic() -> None:
    moved = cache_bytes_per_token(
        10.0, context=[100, 200], drafts=4, heads=5, block_efficiency=2.0
    )
    assert moved.tolist() == [600.0, 1100.0]


def test_operations_rise_where_drafts_are_rejected() -> None:
    # As Theorem 10 of Leviathan et al.: γ + 1 = h tokens are computed for every B emitted.
    assert float(
        flops_per_token(3e9, drafts=1, heads=9, block_efficiency=1.646)
    ) == pytest.approx(3e9 * 9 / 1.646)


def test_free_verification_gains_the_block_efficiency() -> None:
    free = CostModel({1: 1.0}, 0.0)
    factor = parallel_improvement(free, block_efficiency=[1.7, 3.0], drafts=16, heads=9)
    assert factor.tolist() == [1.7, 3.0]


def test_parallel_drafts_must_earn_their_verification() -> None:
    cost = CostModel(
        target_seconds={1: 10.0, 9: 11.0, 144: 22.0}, draft_seconds=0.0, overhead_seconds=0.5
    )
    one, many = break_even_efficiency(cost, drafts=[1, 16], heads=9, rescoring_seconds=[0.0, 2.0])
    assert one == pytest.approx(1.15)
    assert many == pytest.approx(2.45)
    gain = parallel_improvement(
        cost, block_efficiency=many, drafts=16, heads=9, rescoring_seconds=2.0
    )
    assert float(gain) == pytest.approx(1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cache_bytes": -1.0}, "cache_bytes must be .* at least 0, got -1.0"),
        ({"context": 1.5}, "context must be an integer, got 1.5"),
        ({"drafts": -1}, "drafts must be at least 0, got -1"),
        ({"heads": 0}, "heads must be at least 1, got 0"),
        ({"block_efficiency": 0.5}, "block_efficiency must be at least 1, got 0.5"),
        ({"drafts": [1, 2], "heads": [1, 2, 3]}, "drafts and heads must have shapes"),
        ({"context": [1, 2], "cache_bytes": [1.0, 2.0, 3.0]}, "context and .* must have shapes"),
    ],
)
def test_arguments_out_of_range_are_refused(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "cache_bytes": 10.0,
        "context": 10,
        "drafts": 1,
        "heads": 9,
        "block_efficiency": 2.0,
    } | change
    with pytest.raises(ValueError, match=message):
        cache_bytes_per_token(**arguments)


def test_an_acceptance_above_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"acceptance must lie in \[0, 1\], got 1.1"):
        block_efficiency([0.5, 1.1])
