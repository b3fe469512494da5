"""The GPU benchmark at tiny scale: trained, measured and written on a CPU."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("gpu_pair")


def test_a_tiny_pair_is_trained_measured_and_reported(
    benchmark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "result.json"
    benchmark.main(["--tiny", "--work", str(tmp_path / "work"), "-o", str(output)])
    result = json.loads(output.read_text())
    assert {(row["draft"], row["temperature"]) for row in result["alpha"]} == {
        (draft, temperature) for draft in ("6 M", "unigram", "bigram") for temperature in (0.0, 1.0)
    }
    assert [row["published"] for row in result["alpha"]] == [0.88, 0.03, 0.05, 0.89, 0.03, 0.05]
    assert [(cell["batch"], cell["context"]) for cell in result["costs"]] == [
        (1, 8), (2, 8), (1, 16), (2, 16)
    ]  # fmt: skip
    for cell in result["costs"]:
        assert set(cell["target_ms"]) == set(cell["roofline_target_ms"]) == {"1", "2", "3"}
        assert cell["clocks"]["draft"][0]["event_ms"] is None  # no CUDA here
        assert min(cell["prefill_ms"].values()) > 0
    assert [(row["temperature"], row["gamma"]) for row in result["validation"]] == [
        (0, 1), (0, 2), (1, 1), (1, 2)
    ]  # fmt: skip
    # Greedy texts are the target's, their calls follow exactly from the traces, and so does alpha.
    own = {row["temperature"]: row["value"] for row in result["alpha"] if row["draft"] == "6 M"}
    for row in result["validation"][:2]:
        assert row["identical_to_target"]
        assert row["target_calls"] == pytest.approx(row["predicted_target_calls"])
        assert row["alpha"] == pytest.approx(own[0])
    for cell in result["costs"]:
        assert 0 < cell["roofline_target_ms"]["1"] <= cell["roofline_target_ms"]["3"]
    assert result["training"]["target"]["steps"] == 4
    assert "(the paper: 0.88)" in capsys.readouterr().out
    # Resumed: nothing is trained again.
    benchmark.main(["--tiny", "--work", str(tmp_path / "work"), "-o", str(output)])
    again = json.loads(output.read_text())
    assert again["training"]["target"]["loss"] is None
    assert [row["value"] for row in again["alpha"]] == [row["value"] for row in result["alpha"]]


def test_the_papers_pair_has_the_papers_sizes(benchmark: Any) -> None:
    training = importlib.import_module("gpu_training")
    with torch.device("meta"):
        pair = [
            training.gpt(size, training.PAPER)
            for size in (training.PAPER.target, training.PAPER.draft)
        ]
    sizes = [sum(parameter.numel() for parameter in each.parameters()) for each in pair]
    assert 95e6 < sizes[0] < 100e6
    assert 5.5e6 < sizes[1] < 6.5e6


def test_without_a_gpu_only_the_tiny_pair_runs(
    benchmark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit) as ended:
        benchmark.main(["--work", str(tmp_path / "w"), "-o", str(tmp_path / "o")])
    assert ended.value.code == 2
    assert "a CUDA device is needed, and there is none" in capsys.readouterr().err
