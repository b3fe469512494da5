"""The packaged tables of measured kernels: their range, their origin, and the library's answers."""

import hashlib
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import estimator.costs.kernel_tables as tables
from estimator.costs.kernel_tables import (
    FOLDER,
    PACKAGE,
    RELEASE,
    SERVERS,
    SYSTEMS,
    MeasuredKernels,
)
from estimator.costs.latencies import coded, decoded
from specplan.main import main
from tests.estimator.costs.kernel_oracle import LibraryKernels

pytestmark = pytest.mark.usefixtures("kernel_tables")

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
PAIR = [
    "--target-config", str(CONFIGS / "llama-3.1-8b.json"),
    "--draft-config", str(CONFIGS / "llama-3.1-8b-eagle3.json"), "--alpha", "0.7",
]  # fmt: skip


@pytest.mark.parametrize("engine", [["--engine", "vllm"], []])
def test_a_plan_of_a_covered_gpu_takes_measured_kernels_by_default(engine: list[str]) -> None:
    command = ["plan", "--gpu", "h100", *engine, *PAIR]
    plan = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)
    assert plan["cost"]["model"] == "kernels"
    assert f"{PACKAGE} {RELEASE}, h100_sxm, vllm" in plan["cost"]["source"]
    # A step reads 7.5 billion weights of two bytes, at 3.35 TB/s in 4.5 ms at least.
    assert 4.5 < plan["baseline_ms_per_token"] < 9
    text = CliRunner().invoke(main, command).stdout
    assert "kernels measured on h100-sxm" in text
    assert "install" not in text


@pytest.mark.parametrize(
    ("gpu", "engine", "why"),
    [
        ("rtx-4090", "vllm", "no kernels were measured on rtx-4090 .only on a100-80gb, h100-sxm"),
        ("h100-sxm", "llama.cpp", "no kernels were measured for llama.cpp .only for vllm, sglang"),
    ],
)
def test_a_gpu_or_server_without_tables_is_named(gpu: str, engine: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        MeasuredKernels(gpu, engine)


def test_files_are_those_of_the_script_and_name_the_release() -> None:
    lines = (FOLDER / "SHA256SUMS").read_text("utf-8").splitlines()
    sums = {name: found for found, name in (line.split("  ") for line in lines)}
    assert set(sums) == {f"{gpu}.npz" for gpu in SYSTEMS}
    for name, stated in sums.items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == stated
        with np.load(FOLDER / name, allow_pickle=False) as file:
            assert str(file["release"]) == RELEASE
    assert f"{PACKAGE} {RELEASE}" in (FOLDER / "NOTICE").read_text("utf-8")
    assert sum(each.stat().st_size for each in FOLDER.iterdir()) < 10e6


def test_a_coded_latency_is_within_a_thousandth() -> None:
    seconds = np.geomspace(5e-7, 2.0, 300).reshape(3, 100)[:, ::-1]
    steps = coded(seconds)
    assert steps.dtype == np.int16
    assert decoded(steps) == pytest.approx(seconds, rel=0.00101)


@pytest.mark.parametrize(
    ("look_up", "what"),
    [
        (
            lambda of: of.attention(batch=1, context=9, heads=33, key_heads=11, head_size=96),
            "attention of 11 key heads of 96",
        ),
        (
            lambda of: of.experts(
                rows=1, hidden=48, inner=32, count=3, active=2, gpus=(1, 1), stored=2.0
            ),
            r"experts/bfloat16 \(2, 3, 48, 32, 1, 1\)",
        ),
        (
            lambda of: of.product(rows=1, outputs=4096, inputs=4096, stored=0.5625),
            "product/nvfp4",
        ),
        # Two octaves and more from every measured side, and both sides too long.
        (
            lambda of: of.product(rows=1, outputs=4, inputs=4, stored=2.0),
            r"product/bfloat16 \(4, 4\)",
        ),
        (
            lambda of: of.product(rows=1, outputs=600000, inputs=600000, stored=2.0),
            r"product/bfloat16 \(600000, 600000\)",
        ),
        (lambda of: of.all_reduce(rows=1, hidden=4096, gpus=3), r"all-reduce \(3,\)"),
    ],
)
def test_kernels_that_were_not_measured_are_named(
    look_up: Callable[[MeasuredKernels], float], what: str
) -> None:
    message = f"no kernels were measured like this: {PACKAGE} {RELEASE}, h100_sxm, vllm, {what}"
    with pytest.raises(ValueError, match=message):
        look_up(MeasuredKernels("h100-sxm", "vllm"))


def test_a_product_takes_no_less_than_its_bytes_and_grows_with_rows() -> None:
    kernels = MeasuredKernels("h100-sxm", "vllm")
    seconds = [
        kernels.product(rows=rows, outputs=28672, inputs=4096, stored=2.0)
        for rows in (1, 64, 4096, 100_000)
    ]
    read = 2 * 28672 * 4096 / 3.35e12
    assert 0.9 * read < seconds[0] < 3 * read
    assert seconds == sorted(seconds)
    # Beyond the last measured number of rows arithmetic binds, at the same share of the peak.
    assert seconds[3] == pytest.approx(seconds[2] * 100_000 / 4096, rel=0.2)


def test_an_output_matrix_longer_than_any_measured_takes_its_bytes_longer() -> None:
    kernels = MeasuredKernels("h100-sxm", "vllm")
    short, long = (
        kernels.product(rows=1, outputs=times * 65536, inputs=4096, stored=2.0) for times in (8, 32)
    )
    assert long / short == pytest.approx(4, rel=0.01)


@pytest.mark.parametrize(("beyond", "at"), [({"batch": 65536}, {"batch": 8192})])
def test_beyond_the_grid_attention_grows_in_proportion(
    beyond: dict[str, int], at: dict[str, int]
) -> None:
    kernels = MeasuredKernels("h200", "sglang")
    sizes = {"context": 4096, "heads": 32, "key_heads": 8, "head_size": 128}
    assert kernels.attention(**sizes, **beyond) == pytest.approx(
        8 * kernels.attention(**sizes, **at)
    )


@pytest.mark.parametrize("gpu", ["h100", "b200"])
def test_experts_in_mxfp4_with_biases_are_covered(gpu: str) -> None:
    command = [
        "plan", "--gpu", gpu, "--engine", "vllm", "--alpha", "0.7", "--json",
        "--target-config", str(CONFIGS / "gpt-oss-120b.json"),
        "--draft-config", str(CONFIGS / "gpt-oss-120b-eagle3.json"),
    ]  # fmt: skip
    plan = json.loads(CliRunner().invoke(main, command).stdout)
    assert plan["cost"]["model"] == "kernels"
    # A token reads 4 of 128 experts: 5.1 billion parameters of half a byte and more.
    assert 1 < plan["baseline_ms_per_token"] < 6


def test_heads_of_another_size_take_a_time_between_the_nearest() -> None:
    kernels = MeasuredKernels("h100-sxm", "vllm")
    small, between, large = (
        kernels.attention(batch=32, context=8192, heads=32, key_heads=8, head_size=size)
        for size in (64, 80, 128)
    )
    assert between == pytest.approx(0.75 * small + 0.25 * large)
    assert small < between < large


def test_one_gpu_reduces_nothing() -> None:
    assert MeasuredKernels("h200", "vllm").all_reduce(rows=8, hidden=4096, gpus=1) == 0


# Where `make test` puts the library, so that other tests and programs do without it.
LIBRARY = Path(sys.prefix) / "kernels"


@pytest.mark.skipif(not (LIBRARY / "aiconfigurator_core").is_dir(), reason="no library of kernels")
@pytest.mark.parametrize(
    ("gpu", "server"), [("h100-sxm", "vllm"), ("b200", "sglang"), ("a100-80gb", "sglang")]
)
class TestAgainstTheLibrary:
    """Random shapes, as the library itself computes them."""

    @pytest.fixture
    def both(
        self, gpu: str, server: str, monkeypatch: pytest.MonkeyPatch
    ) -> tuple[MeasuredKernels, LibraryKernels]:
        monkeypatch.syspath_prepend(LIBRARY)
        assert server in SERVERS
        return MeasuredKernels(gpu, server), LibraryKernels(gpu, server)

    def test_products_and_all_reduces_are_within_a_thousandth(
        self, both: tuple[MeasuredKernels, LibraryKernels]
    ) -> None:
        ours, library = both
        draw = random.Random(5)
        for _ in range(60):
            sizes = {
                "rows": round(2 ** draw.uniform(0, 12)),
                "outputs": round(2 ** draw.uniform(8, 17)),
                "inputs": round(2 ** draw.uniform(8, 14)),
            }
            expected = library.product(**sizes, kind="bfloat16")
            assert ours.product(**sizes, stored=2.0) == pytest.approx(expected, rel=0.0015)
            reduced = {"rows": sizes["rows"], "hidden": 4096, "gpus": draw.choice((2, 4))}
            expected = library.all_reduce(**reduced)
            assert ours.all_reduce(**reduced) == pytest.approx(expected, rel=0.0015)

    def test_experts_are_within_a_thousandth(
        self, both: tuple[MeasuredKernels, LibraryKernels]
    ) -> None:
        ours, library = both
        measured = tables._curves(ours._gpu, f"{ours._server}/experts/bfloat16")
        draw = random.Random(6)
        shapes = [shape for shape in measured.shapes if shape[-1] == 1]
        for active, count, hidden, inner, gpus, _ in draw.sample(shapes, 12):
            rows = round(2 ** draw.uniform(0, 12))
            expected = library.experts(
                rows=rows, sizes=(hidden, inner, active, count, gpus), kind="bfloat16",
            )  # fmt: skip
            found = ours.experts(
                rows=rows, hidden=hidden, inner=inner, count=count, active=active, gpus=(gpus, 1),
                stored=2.0,
            )  # fmt: skip
            assert found == pytest.approx(expected, rel=0.0015)

    def test_attention_of_usual_heads_is_within_a_hundredth_on_average(
        self, both: tuple[MeasuredKernels, LibraryKernels]
    ) -> None:
        """The library takes the mean over contexts from 0.9 to 1.1 times the stated context."""
        ours, library = both
        draw, off = random.Random(7), []
        for _ in range(60):
            heads, key_heads = draw.choice(((32, 8), (16, 4), (8, 1), (64, 8), (32, 32)))
            sizes = {"heads": heads, "key_heads": key_heads, "head_size": 128}
            sizes |= {
                "batch": round(2 ** draw.uniform(0, 8)),
                "context": round(2 ** draw.uniform(7, 15)),
            }
            expected = library.attention(**sizes)
            assert expected is not None
            off.append(abs(ours.attention(**sizes) / expected - 1))
        # The largest are beyond the batch and context that were measured together.
        assert np.mean(off) < 0.01
        assert max(off) < 0.12
