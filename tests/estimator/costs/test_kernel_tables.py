"""The library of measured kernels: its range, its files, and its refusals."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import estimator.costs.kernel_tables as tables
from estimator.costs.kernel_tables import INSTALL, PACKAGE, MeasuredKernels, missing
from specplan.main import main

SIZES = {"rows": 8, "outputs": 6144, "inputs": 4096, "stored": 2.0}


@pytest.fixture
def kernel_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Returns the folder of saved times, with an installed release that is never loaded."""
    monkeypatch.setattr(tables, "version", lambda _: "0.12.0")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "specplan" / "kernels"


@pytest.mark.parametrize(
    ("gpu", "engine", "why"),
    [
        ("h100-sxm", "vllm", None),
        ("h100-sxm", None, None),
        ("rtx-4090", "vllm", "no kernels were measured on rtx-4090 .only on a100-80gb, h100-sxm"),
        ("h100-sxm", "llama.cpp", "no kernels were measured for llama.cpp .only for vllm, sglang"),
    ],
)
def test_what_no_table_covers_is_named(
    kernel_tables: Path, gpu: str, engine: str | None, why: str | None
) -> None:
    if why is None:
        assert missing(gpu, engine) is None
        return
    with pytest.raises(ValueError, match=why):
        MeasuredKernels(gpu, engine)


def test_the_extra_that_is_not_installed_is_named() -> None:
    assert missing("h100-sxm", "vllm") == f"measured kernels need {INSTALL}"


def test_tables_of_another_release_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "version", lambda _: "0.13.1")
    assert missing("h200", "sglang") == f"measured kernels need {PACKAGE} 0.12, got 0.13.1"


def test_saved_times_are_read_in_place_of_the_tables(kernel_tables: Path) -> None:
    kernel_tables.mkdir(parents=True)
    file = kernel_tables / "h100_sxm-vllm-0.12.0-measured.json"
    file.write_text(json.dumps({"product bfloat16 8 6144 4096": 2.5e-5}))
    kernels = MeasuredKernels("h100-sxm", "vllm")
    assert kernels.product(**SIZES) == 2.5e-5
    assert kernels.name == "aiconfigurator-core 0.12.0, h100_sxm, vllm"


@pytest.mark.parametrize("text", ["{", "[1]", '{"product bfloat16 8 6144 4096": "soon"}'])
def test_a_damaged_file_of_saved_times_is_as_if_it_were_not_there(
    kernel_tables: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    kernel_tables.mkdir(parents=True)
    (kernel_tables / "h100_sxm-vllm-0.12.0-measured.json").write_text(text)
    monkeypatch.setattr(MeasuredKernels, "_look_up", lambda *_, **__: 3e-5)
    kernels = MeasuredKernels("h100-sxm", "vllm")
    assert kernels.product(**SIZES) == 3e-5
    kernels.save()
    (saved,) = kernel_tables.iterdir()
    assert json.loads(saved.read_text()) == {"product bfloat16 8 6144 4096": 3e-5}


def test_kernels_that_were_not_measured_are_named(
    kernel_tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MeasuredKernels, "_look_up", lambda *_, **__: None)
    kernels = MeasuredKernels("h100-sxm", "vllm")
    with pytest.raises(ValueError, match=r"no kernels were measured like this: .*attention 1 1000"):
        kernels.attention(batch=1, context=1000, heads=33, key_heads=11, head_size=96)


# Where `make test` puts the library, so that all other tests and programs plan as without it.
LIBRARY = Path(sys.prefix) / "kernels"


@pytest.mark.skipif(not (LIBRARY / "aiconfigurator_core").is_dir(), reason="no library of kernels")
class TestRealTables:
    """The tables themselves, where the package index had them."""

    @pytest.fixture
    def kernel_tables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Lets the library be seen."""
        monkeypatch.syspath_prepend(LIBRARY)

    def test_a_plan_of_a_covered_gpu_is_priced_by_measured_kernels(
        self, kernel_tables: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        configs = Path(__file__).parents[3] / "docs" / "configs"
        command = [
            "plan", "--json", "--gpu", "h100", "--engine", "vllm", "--alpha", "0.7",
            "--target-config", str(configs / "llama-3.1-8b.json"),
            "--draft-config", str(configs / "llama-3.1-8b-eagle3.json"),
        ]  # fmt: skip
        answer = CliRunner().invoke(main, command, catch_exceptions=False)
        plan = json.loads(answer.stdout)
        assert plan["cost"]["model"] == "kernels"
        assert "aiconfigurator-core 0.12.0, h100_sxm, vllm" in plan["cost"]["source"]
        # A step reads 7.5 billion weights of two bytes, at 3.35 TB/s in 4.5 ms at least.
        assert 4.5 < plan["baseline_ms_per_token"] < 9

    def test_a_product_takes_no_less_than_its_bytes_and_grows_with_rows(
        self, kernel_tables: None
    ) -> None:
        kernels = MeasuredKernels("h100-sxm", "vllm")
        seconds = [
            kernels.product(rows=rows, outputs=28672, inputs=4096, stored=2.0)
            for rows in (1, 64, 4096)
        ]
        read = 2 * 28672 * 4096 / 3.35e12
        assert 0.9 * read < seconds[0] < 3 * read
        assert seconds == sorted(seconds)

    def test_experts_attention_and_all_reduces_are_there(self, kernel_tables: None) -> None:
        kernels = MeasuredKernels("h200", "sglang")
        times = [
            kernels.experts(
                rows=8, hidden=2048, inner=768, count=128, active=8, gpus=1, stored=2.0
            ),
            kernels.attention(batch=8, context=4096, heads=32, key_heads=4, head_size=128),
            kernels.all_reduce(rows=8, hidden=4096, gpus=4),
        ]
        assert all(1e-6 < each < 1e-3 for each in times)
