"""Costs read from the files of benches."""

import json
from pathlib import Path
from typing import Any

import pytest

from estimator.costs.benches import read_benches


def llama(n_prompt: int, n_gen: int, avg_ns: float, model: str = "a.gguf") -> dict[str, Any]:
    # A row of llama-bench -o json, cut to what is read.
    return {"model_filename": model, "n_prompt": n_prompt, "n_gen": n_gen, "avg_ns": avg_ns}


def vllm(batch: int, output_len: int, seconds: float, model: str = "m") -> dict[str, Any]:
    # A record as SAVE_TO_PYTORCH_BENCHMARK_FORMAT writes it.
    sizes = {"input_len": 32, "output_len": output_len, "batch_size": batch}
    return {
        "benchmark": {"name": "vLLM benchmark", "extra_info": {"args": sizes}},
        "model": {"name": model},
        "metric": {"name": "latency", "benchmark_values": [seconds, seconds, 9.0]},
    }


def write(path: Path, value: Any, *, lines: bool = False) -> Path:
    text = "\n".join(map(json.dumps, value)) if lines else json.dumps(value)
    path.write_text(text, encoding="utf-8")
    return path


def test_llama_benchs_prompts_are_passes_over_several_tokens(tmp_path: Path) -> None:
    rows = [llama(4, 0, 30e6), llama(8, 0, 44e6), llama(0, 128, 128 * 20e6)]
    assert read_benches([write(tmp_path / "b.json", rows)]) == {1: 0.02, 4: 0.03, 8: 0.044}


def test_a_prompt_of_one_token_goes_before_generation(tmp_path: Path) -> None:
    rows = [llama(1, 0, 21e6), llama(0, 128, 128 * 20e6)]
    assert read_benches([write(tmp_path / "b.json", rows)]) == {1: 0.021}


def test_batched_benchs_sequences_stand_for_tokens(tmp_path: Path) -> None:
    rows = [{"pp": 128, "tg": 100, "pl": pl, "t_tg": t} for pl, t in ((1, 2.0), (4, 2.6))]
    found = read_benches([write(tmp_path / "b.jsonl", rows, lines=True)])
    assert found == pytest.approx({1: 0.02, 4: 0.026})


def test_vllms_latency_counts_only_further_tokens(tmp_path: Path) -> None:
    records = [vllm(1, 100, 2.5), vllm(1, 200, 4.5), vllm(8, 100, 3.0), vllm(8, 200, 5.4)]
    paths = [write(tmp_path / f"{i}.json", [record]) for i, record in enumerate(records)]
    assert read_benches(paths) == {1: pytest.approx(0.02), 8: pytest.approx(0.024)}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([{"tokens": 3, "speed": 4}], "must be of llama-bench -o json, .* an object with speed"),
        ([], "must hold at least one JSON object"),
        ([llama(4, 0, 1e6)], r"must have a pass over one token .*, got n of \[4\]"),
        ([llama(1, 0, 1e6), llama(4, 0, 1e6, model="b.gguf")],
         "costs must be of one model, got a.gguf and b.gguf"),
        ([llama(1, 0, 0.0)], "avg_ns in .* must be above 0, got 0.0"),
        ({"avg_latency": 1.0, "latencies": [1.0], "percentiles": {}},
         "must state input_len, output_len, batch_size, got none of them"),
        ([vllm(1, 100, 2.5)], r"must be run at two output lengths for batch 1, got \[100\]"),
        ([vllm(1, 100, 2.5), vllm(1, 200, 2.0)], "must rise from 100 to 200 output tokens"),
        ([vllm(1, 1, 2.5), vllm(1, 2, 3.5, model="n")], "costs must be of one model, got m and n"),
        ([{"pl": 1, "tg": 0, "t_tg": 1.0}], "a tg of at least 1"),
    ],
)  # fmt: skip
def test_other_files_are_refused(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_benches([write(tmp_path / "b.json", value)])


def test_files_that_are_no_json_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    path.write_text("| model | t/s |", encoding="utf-8")
    with pytest.raises(ValueError, match="must be JSON or a JSON object a line"):
        read_benches([path])
