"""Kernels of a GPU from one with the same chip, against kernels that were measured on both."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from estimator.costs.kernel_tables import MeasuredKernels
from estimator.costs.same_chip import OtherMemory, kernels_of
from simulator.cost.fitted.kernel_tables import KernelTables
from simulator.cost.roofline.hardware import find_hardware
from specplan.main import main

pytestmark = pytest.mark.usefixtures("kernel_tables")

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
EXPERTS = {"hidden": 2048, "inner": 768, "count": 128, "active": 8, "stored": 2.0}


def of_h200(server: str) -> KernelTables:
    """Returns the kernels of an H200, as the H100's tables have them."""
    tables = MeasuredKernels("h100-sxm", server)
    return OtherMemory(tables, find_hardware("h100-sxm"), find_hardware("h200"))


def products(tables: KernelTables) -> list[float]:
    sides = [(6144, 4096), (28672, 4096), (4096, 14336), (128256, 4096), (2560, 2048)]
    rows = (1, 8, 64, 256)
    return [tables.product(rows=m, outputs=n, inputs=k, stored=2.0) for n, k in sides for m in rows]


def experts(tables: KernelTables) -> list[float]:
    shared = [(1, 1), (2, 1), (4, 1), (1, 8)]
    return [tables.experts(rows=m, gpus=gpus, **EXPERTS) for gpus in shared for m in (1, 4, 16, 64)]


def attention(tables: KernelTables) -> list[float]:
    sizes = {"heads": 32, "key_heads": 8, "head_size": 128}
    loads = [(1, 1000), (8, 8000), (64, 8000), (256, 2000)]
    return [tables.attention(batch=b, context=c, **sizes) for b, c in loads]


@pytest.mark.parametrize("server", ["vllm", "sglang"])
@pytest.mark.parametrize("kernels", [products, experts, attention])
def test_kernels_of_an_h200_follow_from_the_same_chip_with_slower_memory(
    server: str, kernels: Callable[[KernelTables], list[float]]
) -> None:
    measured = np.array(kernels(MeasuredKernels("h200", server)))
    off = np.array(kernels(of_h200(server))) / measured - 1
    as_h100 = np.array(kernels(MeasuredKernels("h100-sxm", server))) / measured - 1
    assert np.abs(off).mean() < 0.09
    assert np.abs(off).mean() < 0.5 * np.abs(as_h100).mean()


def test_a_product_that_arithmetic_limits_takes_the_same_time_with_faster_memory() -> None:
    sizes = {"rows": 8192, "outputs": 28672, "inputs": 4096, "stored": 2.0}
    now = of_h200("vllm").product(**sizes)
    assert now == MeasuredKernels("h100-sxm", "vllm").product(**sizes)


def test_exchanges_do_not_depend_on_the_memory() -> None:
    sizes = {"rows": 4, "hidden": 7168, "gpus": 8}
    slower, faster = kernels_of("h100-sxm", "sglang"), kernels_of("gh200-96gb", "sglang")
    assert faster.all_reduce(**sizes) == slower.all_reduce(**sizes)
    sent = sizes | {"count": 256, "active": 8}
    assert faster.all_to_all(**sent) == slower.all_to_all(**sent)


def test_a_gpu_without_a_measured_chip_is_named() -> None:
    with pytest.raises(ValueError, match="no kernels were measured on rtx-4090"):
        kernels_of("rtx-4090", "vllm")


def planned(gpu: str, target: str, draft: str, *further: str) -> Any:
    """Returns the JSON of a plan by measured kernels."""
    configs = [str(CONFIGS / f"{name}.json") for name in (target, draft)]
    command = ["plan", "--gpu", gpu, "--target-config", configs[0], "--draft-config", configs[1]]
    done = CliRunner().invoke(main, [*command, "--alpha", "0.7", "--json", *further])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["cost"]["model"] == "kernels"
    return found


def test_a_plan_for_a_gh200_takes_an_h100s_kernels_and_says_so() -> None:
    pair = ("llama-3.1-8b", "llama-3.1-8b-eagle3")
    faster, slower = planned("gh200", *pair), planned("h100", *pair)
    assert "h100_sxm, vllm, with the memory of gh200-96gb" in faster["cost"]["source"]
    ratio = slower["baseline_ms_per_token"] / faster["baseline_ms_per_token"]
    assert 1.05 < ratio < 4.0 / 3.35


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_experts_scaled_in_blocks_are_covered(engine: str) -> None:
    name = "deepseek-v3"
    found = planned("h100", name, name, "--tp", "16", "--engine", engine)
    # 37 of 671 billion weights, of a byte, on 16 GPUs at 3.35 TB/s: 0.7 ms at least.
    assert 0.7 < found["baseline_ms_per_token"] < 30


@pytest.mark.parametrize(
    ("gpu", "server", "rereads"),
    [
        ("a100-80gb", "vllm", True),
        ("a100-40gb", "vllm", True),
        ("a100-80gb", "sglang", False),
        ("h100-sxm", "vllm", False),
        ("gh200-96gb", "vllm", False),
    ],
)
def test_flash_attention_2_reads_again_with_any_memory(
    gpu: str, server: str, rereads: bool
) -> None:
    assert kernels_of(gpu, server).rereads == rereads


@pytest.mark.parametrize("gpu", ["h100-sxm", "gh200-96gb"])
def test_vllm_captures_pieces_of_a_draft_with_any_memory(gpu: str) -> None:
    assert kernels_of(gpu, "vllm").drafting_layer == 15e-6
    assert kernels_of(gpu, "sglang").drafting_layer == 0
