"""Costs of blockwise parallel decoding."""

from typing import Any

import numpy as np
import pytest

from figures.numbers import published_grid
from studies.blockwise.cost import (
    cache_bytes_per_token,
    flops_per_token,
    parameter_bytes_per_token,
)


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
    moved = cache_bytes_per_token(10.0, context=[100, 200], drafts=4, heads=5, block_efficiency=2.0)
    assert moved.tolist() == [600.0, 1100.0]


def test_operations_rise_where_drafts_are_rejected() -> None:
    # As Theorem 10 of Leviathan et al.: γ + 1 = h tokens are computed for every B emitted.
    assert float(flops_per_token(3e9, drafts=1, heads=9, block_efficiency=1.646)) == pytest.approx(
        3e9 * 9 / 1.646
    )


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
