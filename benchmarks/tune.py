"""Tunes engines, and compares the gamma that each tuning ends with to a second, independent sweep.

    OMP_NUM_THREADS=1 python benchmarks/tune.py run results.json    # continues where it was killed
    python benchmarks/tune.py show results.json                     # the tables of docs/tune.md

The loss of a setting comes only from the sweep: its nine gammas and the tuned one in turns on the
same prompts. One half of the turns chooses the best gamma and the other half says how much faster
it is than the tuned one, and the other way round: chosen and judged by the same turns, the best of
nine would look better than it is.
"""

import argparse
import json
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from engines.kind import EngineSettings
from engines.tuning import tune as tuning
from engines.tuning.request import TuneEngine, TuneOwn, Tuning
from estimator.settings import ModelSettings, PromptSettings, SamplingSettings, TimingSettings
from estimator.writing import write_json
from reference.models.embedded import weights_folder

SWEEP = (0, 1, 2, 3, 4, 6, 8, 12, 16)
LAYERS = 2
# Prompts, tokens of each text, repeats.
SIZES = {"llama.cpp": (8, 48, 3), "own": (6, 48, 2), "mlx": (6, 48, 2), "transformers": (6, 48, 2)}
RESAMPLES = 2000


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
        name: each
        for name, each in weights.items()
        if ".layers." not in name or int(name.split(".layers.")[1].split(".")[0]) < LAYERS
    }
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


def request(engine: str, draft: str, temperature: float, concurrency: int) -> Any:
    """Returns the tuning of a setting, as the command line would ask for it."""
    prompts, tokens, repeats = SIZES[engine]
    if concurrency > 1:
        repeats *= 2  # a turn is then all prompts
    how = Tuning(
        text=PromptSettings(num_prompts=prompts, max_new_tokens=tokens),
        timing=TimingSettings(repeats=repeats),
        temperature=temperature,
        concurrencies=(concurrency,),
    )
    if engine == "own":
        return TuneOwn(
            how=how,
            models=ModelSettings(target="embedded", drafts=(draft,)),
            sampling=SamplingSettings(),
            threads=1,
        )
    threads = {} if engine == "mlx" else {"threads": 1}
    settings = EngineSettings(engine, concurrencies=(concurrency,), **threads)
    return TuneEngine(
        engine=settings, text=how.text, timing=how.timing, seed=0, target="embedded",
        drafts=(draft,), how=how,
    )  # fmt: skip


def swept(asked: Any, gamma: int) -> dict[str, Any]:
    """Returns milliseconds a token of a second sweep, by gamma and turn, and how long it took."""
    fresh = replace(asked, how=replace(asked.how, seed=1000))
    ready = tuning._own if isinstance(asked, TuneOwn) else tuning._engine
    began = time.monotonic()
    with ready(fresh) as (bench, _, _):
        gammas = sorted({*SWEEP, gamma})
        rows = bench.measure(gammas, asked.how.concurrencies, 0)
    seconds = (time.monotonic() - began) * len(SWEEP) / len(gammas)
    times = {
        row.gamma: {turn: 1e3 * spent / tokens for _, turn, spent, _, tokens in row.turns}
        for row in rows
    }
    return {"seconds": seconds, "times": times}


def measured(engine: str, draft: str, temperature: float, concurrency: int) -> dict[str, Any]:
    """Returns a tuning and its sweep."""
    asked = request(engine, draft, temperature, concurrency)
    began = time.monotonic()
    found = tuning.tune(asked)
    seconds = time.monotonic() - began
    [advised] = found.advised
    return {
        "gamma": advised.gamma,
        "factor": advised.improvement_factor,
        "runs": sum(row.gamma > 0 for row in found.rows),
        "tried": [row.gamma for row in found.rows],
        "seconds": seconds,
        "sweep": swept(asked, advised.gamma),
    }


def run(path: Path) -> None:
    """Measures every setting that the file does not have yet."""
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    with TemporaryDirectory() as name:
        layers = first_layers(Path(name) / "layers")
        for concurrency, temperature, pair, engine in product(
            (1, 4), (0.0, 1.0), ("embedded", "layers"), SIZES
        ):
            if concurrency == 1 or engine == "llama.cpp":
                key = f"{engine}|{pair}|{temperature:g}|{concurrency}"
                if key in results:
                    continue
                draft = "embedded" if pair == "embedded" else layers
                results[key] = measured(engine, draft, temperature, concurrency)
                write_json(results, path)
                print(key, results[key]["tried"], results[key]["gamma"], flush=True)


def loss(result: dict[str, Any]) -> tuple[float, float, float, int]:
    """Returns the share of speed lost, its 90 % interval, and the sweep's best gamma."""
    times = {int(gamma): by for gamma, by in result["sweep"]["times"].items()}
    turns = sorted(set.intersection(*({int(turn) for turn in by} for by in times.values())))
    gammas = sorted(times)
    table = np.log([[times[gamma][str(turn)] for turn in turns] for gamma in gammas])
    own = gammas.index(result["gamma"])
    swept_ones = [index for index, gamma in enumerate(gammas) if gamma in SWEEP]

    def halves(columns: Any) -> float:
        behind = []
        for first in (0, 1):
            chosen, judged = table[:, columns[first::2]], table[:, columns[1 - first :: 2]]
            middle = np.median(chosen - chosen[:1], axis=1)
            best = min(swept_ones, key=lambda index: middle[index])
            behind.append(np.median(judged[own] - judged[best]))
        return float(1 - np.exp(-np.mean(behind)))

    draws = np.random.default_rng(0)
    columns = np.arange(len(turns))
    drawn = [halves(draws.choice(columns, len(columns))) for _ in range(RESAMPLES)]
    middle = np.median(table - table[:1], axis=1)
    best = gammas[min(swept_ones, key=lambda index: middle[index])]
    shuffled = [halves(draws.permutation(columns)) for _ in range(200)]
    low, high = np.quantile(drawn, (0.05, 0.95))
    return float(np.mean(shuffled)), float(low), float(high), best


def show(path: Path) -> None:
    """Prints the table and its means."""
    results = json.loads(path.read_text())
    print("| engine | pair | T | at once | K run | K | sweep's | loss, % [90 %] | time share |")
    print("|---" * 9 + "|")
    found = []
    for key, each in results.items():
        lost, low, high, best = loss(each)
        share = each["seconds"] / each["sweep"]["seconds"]
        found.append((lost, high, each["runs"], share))
        tried = ", ".join(map(str, each["tried"]))
        lost_percent = f"{100 * lost:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
        cells = (*key.split("|"), tried, each["gamma"], best, lost_percent, f"{share:.2f}")
        print(f"| {' | '.join(map(str, cells))} |")
    lost, high, runs, share = np.mean(found, axis=0)
    print(f"\nmeans: loss {100 * lost:.1f} %, upper end {100 * high:.1f} %, runs {runs:.1f}, "
          f"time share {share:.2f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("path", type=Path)
    arguments = parser.parse_args()
    (run if arguments.what == "run" else show)(arguments.path)


if __name__ == "__main__":
    main()
