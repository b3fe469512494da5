"""Costs of the target from the output files of llama.cpp's two benches and vLLM's latency bench."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median_high
from typing import Any

from reference.files import json_objects, read_whole

_LLAMA_BENCH = {"n_prompt", "n_gen", "avg_ns"}
_BATCHED_BENCH = {"pl", "tg", "t_tg"}
_VLLM_SIZES = ("input_len", "output_len", "batch_size")
Rows = Sequence[Mapping[str, Any]]
# Latencies in seconds by output length, for each batch size and input length.
Latencies = dict[tuple[int, int], dict[int, float]]


def read_benches(paths: Sequence[Path]) -> dict[int, float]:
    """Returns t_p(n), the seconds of a target pass over n tokens, by n. n = 1 is always included.

    In files of `llama-bench -o json`, n is the prompt length (pp), and a generated token (tg) gives
    t_p(1). In files of `llama-batched-bench --output-format jsonl` and `vllm bench latency`, n is
    the number of sequences that each decode one token. Such a step reads the weights once, like a
    pass over n tokens of one sequence, but it reads n caches.
    """
    if not paths:
        raise ValueError("costs must have at least one file, got none")
    points: dict[int, float] = {}
    models: dict[str, None] = {}
    latencies: Latencies = {}
    for path in paths:
        rows = json_objects(read_whole(path).decode(), str(path))
        first = rows[0]
        if first.keys() >= _LLAMA_BENCH:
            points |= _llama_bench(rows, path, models)
        elif first.keys() >= _BATCHED_BENCH:
            points |= _batched_bench(rows, path)
        elif "benchmark" in first and "metric" in first:
            _vllm_latency(rows, path, models, latencies)
        elif "latencies" in first and "avg_latency" in first:
            raise ValueError(
                f"{path} must state {', '.join(_VLLM_SIZES)}, got none of them: run vllm bench "
                "latency with SAVE_TO_PYTORCH_BENCHMARK_FORMAT=1 and give its .pytorch.json"
            )
        else:
            raise ValueError(
                f"{path} must be of llama-bench -o json, llama-batched-bench or vllm bench "
                f"latency, got an object with {', '.join(sorted(first)[:5])}"
            )
        if len(models) > 1:
            raise ValueError(f"costs must be of one model, got {' and '.join(models)}")
    points |= _steps(latencies)
    if 1 not in points:
        raise ValueError(
            f"{paths[0]} must have a pass over one token (tg or pp 1, pl 1, or batch 1 at two "
            f"output lengths), got n of {sorted(points)}"
        )
    return dict(sorted(points.items()))


def _llama_bench(rows: Rows, path: Path, models: dict[str, None]) -> dict[int, float]:
    if not all(row.keys() >= _LLAMA_BENCH for row in rows):
        raise ValueError(f"{path} must have n_prompt, n_gen and avg_ns in every row")
    points = {}
    # A prompt of one token replaces generated tokens.
    for row in sorted(rows, key=lambda row: bool(row["n_gen"] == 0)):
        models[str(row.get("model_filename", row.get("model_type", "")))] = None
        prompt, tokens = row["n_prompt"], row["n_gen"]
        seconds = _positive(row["avg_ns"], "avg_ns", path) / 1e9
        if tokens == 0 and prompt >= 1:
            points[int(prompt)] = seconds
        elif prompt == 0 and tokens >= 1:
            points[1] = seconds / tokens
    return points


def _batched_bench(rows: Rows, path: Path) -> dict[int, float]:
    if not all(row.keys() >= _BATCHED_BENCH and row["tg"] >= 1 for row in rows):
        raise ValueError(f"{path} must have pl, t_tg and a tg of at least 1 in every row")
    return {int(row["pl"]): _positive(row["t_tg"], "t_tg", path) / row["tg"] for row in rows}


def _vllm_latency(rows: Rows, path: Path, models: dict[str, None], latencies: Latencies) -> None:
    """Adds each row's median latency to `latencies`, and the name of its model to `models`."""
    for row in rows:
        stated = row["benchmark"].get("extra_info", {}).get("args", {})
        missing = [name for name in _VLLM_SIZES if not isinstance(stated.get(name), int)]
        if missing:
            raise ValueError(f"{path} must state {', '.join(missing)}, got none")
        models[str(row.get("model", {}).get("name", ""))] = None
        values = row["metric"].get("benchmark_values")
        if row["metric"].get("name") != "latency" or not values:
            raise ValueError(f"{path} must hold latencies, got {row['metric'].get('name')}")
        middle = median_high(_positive(value, "latency", path) for value in values)
        key = (stated["batch_size"], stated["input_len"])
        latencies.setdefault(key, {})[stated["output_len"]] = middle


def _steps(latencies: Latencies) -> dict[int, float]:
    """Returns seconds per step by batch size, from the latencies at two output lengths."""
    points = {}
    for (batch, _), by_output in sorted(latencies.items()):
        if len(by_output) < 2:
            raise ValueError(
                f"vllm bench latency must be run at two output lengths for batch {batch}, got "
                f"{sorted(by_output)}"
            )
        short, long = min(by_output), max(by_output)
        seconds = (by_output[long] - by_output[short]) / (long - short)
        if seconds <= 0:
            raise ValueError(
                f"latency of batch {batch} must rise from {short} to {long} output tokens, got "
                f"{by_output[short]:g} and {by_output[long]:g} s"
            )
        points[batch] = seconds
    return points


def _positive(value: Any, name: str, path: Path) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        raise ValueError(f"{name} in {path} must be above 0, got {value!r}")
    return float(value)
