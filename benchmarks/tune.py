"""Tunes engines, and compares the gamma that each tuning ends with to a second, independent sweep.

    OMP_NUM_THREADS=1 python benchmarks/tune.py run results.json    # continues where it was killed
    python benchmarks/tune.py vllm results.json --command "PYTHON -m vllm... --dtype float32"
    python benchmarks/tune.py show results.json                     # the tables of docs/tune.md

The loss of a setting comes only from the sweep (tune_loss.py).
"""

import argparse
import json
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
from tune_loss import loss

from engines.kind import EngineSettings
from engines.tuning import tune as tuning
from engines.tuning.request import TuneEngine, TuneOwn, Tuning
from estimator.settings import ModelSettings, PromptSettings, SamplingSettings, TimingSettings
from estimator.writing import write_json
from reference.models.embedded import weights_folder
from specplan.commands.tune import tuned_text

SWEEP = (0, 1, 2, 3, 4, 6, 8, 12, 16)
# A server for each gamma takes a minute to start.
VLLM_SWEEP = (0, 1, 2, 3, 4, 6, 8)
LAYERS = 2
# Prompts, and repeats: at most, and what the user's own sweep would take.
SIZES = {"llama.cpp": 8, "own": 6, "mlx": 6, "transformers": 6, "vllm": 8}
TOKENS, REPEATS = 48, 2


def first_layers(folder: Path) -> str:
    """Writes the first layers of the embedded target as a draft model of their own."""
    from safetensors.torch import load_file, save_file

    source = weights_folder("target")
    folder.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((source / name).read_bytes())
    config = json.loads((source / "config.json").read_text())
    config["num_hidden_layers"] = LAYERS
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][:LAYERS]
    (folder / "config.json").write_text(json.dumps(config))
    weights = load_file(source / "model.safetensors")
    kept = {
        name: tensor
        for name, tensor in weights.items()
        if ".layers." not in name or int(name.split(".layers.")[1].split(".")[0]) < LAYERS
    }
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


def request(engine: str, draft: str, temperature: float, loads: tuple[int, ...]) -> Any:
    """Returns the tuning of a setting, as the command line would ask for it."""
    # Where several run at once, a turn is all prompts.
    repeats = REPEATS if loads == (1,) else 2 * REPEATS
    how = Tuning(
        text=PromptSettings(num_prompts=SIZES[engine], max_new_tokens=TOKENS),
        timing=TimingSettings(repeats=repeats),
        temperature=temperature,
        concurrencies=loads,
    )
    if engine == "own":
        return TuneOwn(
            how=how,
            models=ModelSettings(target="embedded", drafts=(draft,)),
            sampling=SamplingSettings(),
            threads=1,
        )
    threads = {"threads": 1} if engine in ("llama.cpp", "transformers") else {}
    settings = EngineSettings(engine, concurrencies=loads, **threads)
    return TuneEngine(
        engine=settings, text=how.text, timing=how.timing, seed=0, target="embedded",
        drafts=(draft,), how=how,
    )  # fmt: skip


def swept(tuning_request: Any, gammas: tuple[int, ...], wanted: set[int]) -> dict[str, Any]:
    """Returns the runs of a second sweep, in two passes, and how long a user's own sweep takes.

    All gammas share turns, even of an engine that is tuned by one server after the other: over the
    minutes of such a sweep, this machine's speed changes by as much as neighbouring gammas differ.
    """
    fresh = replace(tuning_request, how=replace(tuning_request.how, seed=1000))
    if isinstance(tuning_request, TuneEngine):
        fresh = replace(fresh, engine=replace(tuning_request.engine, servers="together"))
    ready = tuning._own if isinstance(tuning_request, TuneOwn) else tuning._engine
    every = sorted({*gammas, *wanted})
    began, passes, seconds = time.monotonic(), [], list[float]()
    with ready(fresh) as (bench, _, _):
        for number in (0, 1):
            passes.append(bench.measure(every, tuning_request.how.concurrencies, 1000 * number))
            seconds.append((time.monotonic() - began) * len(gammas) / len(every))
    # A user would make one pass.
    return {"seconds": seconds[0], "gammas": gammas, "passes": msgspec.to_builtins(passes)}


def measured(
    tuning_request: Any, gammas: tuple[int, ...], sweep: dict[str, Any] | None = None
) -> dict[int, Any]:
    """Returns a tuning and its sweep, by load; sweep: an earlier one, used if it has the gammas."""
    began = time.monotonic()
    tuned = tuning.tune(tuning_request)
    print(tuned_text(tuned, dry_run=False), flush=True)
    seconds = time.monotonic() - began
    wanted = {advice.gamma for advice in tuned.advised}
    if sweep is None or not wanted <= {row["gamma"] for row in sweep["passes"][0]}:
        sweep = swept(tuning_request, gammas, wanted)
    return {
        advice.concurrency: {
            "gamma": advice.gamma,
            "factor": advice.improvement_factor,
            "tried": [row.gamma for row in tuned.at(advice.concurrency)],
            "turns": [len(row.turns) for row in tuned.at(advice.concurrency)],
            "seconds": seconds,
            "sweep": sweep,
        }
        for advice in tuned.advised
    }


def run(path: Path, command: str | None) -> None:
    """Measures every setting that the file does not have yet; with a command: vLLM's settings."""
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    # Servers one after the other, as by default, and together; both are judged by one sweep.
    ways = ("vllm", "vllm together")
    cases: list[tuple[tuple[int, ...], float, str, str]]
    cases = [((1, 4), 0.0, "embedded", way) for way in ways]
    if command is None:
        cases = [
            (load, *case)
            for load, *case in product(
                ((1,), (4,)), (0.0, 1.0), ("embedded", "layers"), SIZES.keys() - {"vllm"}
            )
            if load == (1,) or case[-1] == "llama.cpp"
        ]
    with TemporaryDirectory() as name:
        layers = first_layers(Path(name) / "layers")
        for loads, temperature, pair, engine in sorted(cases, key=lambda case: (case[2], *case)):
            key = f"{engine}|{pair}|{temperature:g}|"
            if f"{key}{loads[0]}" in results:
                continue
            tuning_request = request(
                engine.split()[0], "embedded" if pair == "embedded" else layers, temperature, loads
            )
            sweep = None
            if command is not None:
                servers = "together" if engine == ways[1] else "in-turn"
                settings = replace(tuning_request.engine, engine_command=command, servers=servers)
                tuning_request = replace(tuning_request, engine=settings)
                sweep = next((earlier["sweep"] for earlier in results.values()), None)
            by_load = measured(tuning_request, SWEEP if command is None else VLLM_SWEEP, sweep)
            for load, result in by_load.items():
                results[f"{key}{load}"] = result
                print(f"{key}{load}", result["tried"], result["gamma"], flush=True)
            write_json(results, path)


def show(path: Path) -> None:
    """Prints the table and its means."""
    results = json.loads(path.read_text())
    print("| engine | pair | T | at once | K run | K | sweep's | loss, % [90 %] | time share |")
    print("|---" * 9 + "|")
    losses, reached = [], []
    for key, result in results.items():
        lost, best = loss(key, result)
        low, high = np.quantile(lost[1:], (0.05, 0.95))
        share = result["seconds"] / result["sweep"]["seconds"]
        losses.append(lost)
        reached.append((high, sum(gamma > 0 for gamma in result["tried"]), share))
        tried = ", ".join(map(str, result["tried"]))
        lost_percent = f"{100 * lost[0]:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
        cells = (*key.split("|"), tried, result["gamma"], best, lost_percent, f"{share:.2f}")
        print(f"| {' | '.join(map(str, cells))} |")
    high, runs, share = np.mean(reached, axis=0)
    mean = np.mean(losses, axis=0)
    low, top = 100 * np.quantile(mean[1:], (0.05, 0.95))
    print(f"\nmean loss {100 * mean[0]:.1f} % [{low:.1f}, {top:.1f}], mean of the upper ends "
          f"{100 * high:.1f} %, runs {runs:.1f}, time share {share:.2f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "vllm", "show"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--command", help="starts vLLM's server")
    arguments = parser.parse_args()
    if arguments.what == "show":
        show(arguments.path)
    else:
        run(arguments.path, arguments.command if arguments.what == "vllm" else None)


if __name__ == "__main__":
    main()
