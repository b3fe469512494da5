"""The closed form of a server under traffic against the event simulator, over a grid of loads.

    python benchmarks/traffic_closed_form.py -o closed_form.json [--cells 40]

Every cell is a server (Llama-3.1-8B with EAGLE-3 on an H100, by the roofline), a prompt, an output,
a chunk, a cache and a γ. Compared are the time of a token and the time to the first token at 30, 60
and 85 % of the capacity, and the capacity itself, which the simulator shows when all requests
arrive at once. The whole grid takes about half an hour on one core; cells that the file already has
are skipped. `--near` compares two deployments near their capacity in longer simulations instead,
and `--chunks` long chunks with short outputs, and long prompts, by share of the capacity.
"""

import argparse
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from result_file import setup, write_result
from tqdm import tqdm

from estimator.model_shapes.drafts import read_pair
from simulator.acceptance.acceptance import Iid
from simulator.cost.roofline.deployment import Deployment, prompt_seconds, roofline_cost
from simulator.cost.roofline.hardware import find_hardware
from simulator.cost.roofline.sharing import Conditions
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand, Requests
from simulator.traffic.events import serve
from simulator.traffic.population import max_rate
from simulator.traffic.server import Prompts, Server, by_batch
from simulator.traffic.steady import steady

PROMPTS, OUTPUTS = (200, 1000, 4000, 20_000), (2, 20, 200, 2000)
CHUNKS, CACHES, GAMMAS = (256, 512, 2048, 8192), (None, 40, 10), (0, 3)
SHARES, NEAR_SHARES = (0.3, 0.6, 0.85), (0.5, 0.8, 0.9, 0.95)
# Deployments near their capacity: name of the pair, GPUs, prompt and output, chunks of 2048.
NEAR = (("llama-3.1-8b", 1, 1000, 300), ("llama-3.3-70b", 4, 2000, 300))
NEAR_REQUESTS = 50_000
# Chunks, outputs and prompts of `--chunks`, and its shares of the capacity.
CHUNKED = [
    *product((512, 2048, 8192), (20, 60, 200), [(200, 1000, 4000)]),
    *product((2048,), (60, 300, 1000), [(8000, 20_000)]),
]
PARTS = (0.4, 0.6, 0.75)
SLOTS, BATCHES = 256, (1, 2, 4, 8, 16, 32, 64, 128, 256)
# Standard error of a simulated mean at which the simulations of a cell end, and the most of them.
PRECISION, MOST_SEEDS = 0.005, 12
CONFIGS = Path(__file__).parent.parent / "docs" / "configs"


def cells() -> Iterator[tuple[int, int, int, int | None, int]]:
    """Returns prompt, output, chunk, requests that the cache holds, and γ of every cell."""
    return product(PROMPTS, OUTPUTS, CHUNKS, CACHES, GAMMAS)


def server_of(deployment: Deployment, demand: Demand, chunk: int, cache: int | None) -> Server:
    """Returns a server whose cache holds `cache` requests."""
    context, gammas = round(demand.context), np.arange(1, 5)
    costs = [roofline_cost(deployment, context=context, batch=batch) for batch in BATCHES]
    times = [[cost.baseline_seconds, *cost.block_seconds(gammas)] for cost in costs]
    places = sorted({1, 64, 256, 512, 2048, 8192, int(demand.prompt_tokens)})
    reading = {n: prompt_seconds(deployment, n)[0] for n in places}
    held = None if cache is None else cache * (demand.prompt_tokens + demand.output_tokens)
    blocks = Blocks.of(Iid(0.7), 4)
    return Server(by_batch(BATCHES, times, SLOTS), blocks, Prompts(reading, chunk), held)


def simulated(
    server: Server, demand: Demand, gamma: int, rate: float, *, count: int | None = None
) -> dict[str, float]:
    """Returns means of repeated simulations, in seconds, and their relative standard error."""
    seconds_by_seed: list[tuple[float, float]] = []
    if count is None:
        count = int(np.clip(60 * server.max_batch(demand), 2000, 12_000))
    while True:
        seed = len(seconds_by_seed)
        requests = demand.arrivals(rate, count, seed=seed)
        run = serve(server, requests, gamma, seed=seed)
        seconds_by_seed.append((float(run.token_seconds.mean()), float(run.first_seconds.mean())))
        values = np.array(seconds_by_seed)
        if seed >= 2:
            errors = values.std(axis=0, ddof=1) / values.mean(axis=0) / len(seconds_by_seed) ** 0.5
            if errors[0] < PRECISION or len(seconds_by_seed) == MOST_SEEDS:
                return dict(
                    zip(
                        ("token", "first", "token_error", "first_error"),
                        (*values.mean(axis=0).tolist(), *errors.tolist()),
                        strict=True,
                    )
                )


def saturated(server: Server, demand: Demand, gamma: int) -> float:
    """Returns the requests a second that end while the line never empties.

    Where all arrive at once, equal outputs end together for ever, which no server sees; so a second
    run has Poisson arrivals, a quarter more than the first one ended.
    """
    count = max(1500, 24 * server.max_batch(demand))
    lengths = (np.full(count, round(n)) for n in (demand.prompt_tokens, demand.output_tokens))
    requests = Requests(np.zeros(count), *lengths)
    rate = 0.0
    for _ in range(2):
        run = serve(server, requests, gamma, seed=0)
        ends = np.sort(run.last)
        first, last = ends[2 * count // 5], ends[9 * count // 10]
        ended = np.searchsorted(ends, last, "right") - np.searchsorted(ends, first, "right")
        rate = float(ended / (last - first))
        requests = demand.arrivals(1.25 * rate, count, seed=0)
    return rate


def compared(deployment: Deployment, cell: tuple[int, int, int, int | None, int]) -> dict[str, Any]:
    """Returns the results of the closed form and of the simulator for a cell."""
    prompt, output, chunk, cache, gamma = cell
    demand = Demand(prompt, output)
    server = server_of(deployment, demand, chunk, cache)
    most = float(max_rate(server, demand, gamma))
    row: dict[str, Any] = {"cell": list(cell), "max_rate": most}
    row["max_rate_simulated"] = saturated(server, demand, gamma)
    for share in SHARES:
        rate = share * row["max_rate_simulated"]
        row[f"{share:g}"] = at_rate(server, demand, gamma, rate)
    return row


def at_rate(
    server: Server, demand: Demand, gamma: int, rate: float, *, count: int | None = None
) -> dict[str, float]:
    """Returns mean times of a rate by the closed form and by simulations."""
    state = steady(server, demand, gamma, rate)
    return {
        "token_closed": float(state.token_seconds[0]),
        "first_closed": float(state.first_seconds[0]),
        **simulated(server, demand, gamma, rate, count=count),
    }


def near() -> Iterator[dict[str, Any]]:
    """Yields a row for each deployment, γ and share of the capacity."""
    for name, gpus, prompt, output in NEAR:
        target, draft = read_pair(CONFIGS / f"{name}.json", CONFIGS / f"{name}-eagle3.json")
        deployment = Deployment(target, draft, find_hardware("h100"), Conditions(tp=gpus))
        demand = Demand(prompt, output)
        server = server_of(deployment, demand, 2048, None)
        for gamma in GAMMAS:
            most = saturated(server, demand, gamma)
            for share in NEAR_SHARES:
                errors_at_rate = at_rate(server, demand, gamma, share * most, count=NEAR_REQUESTS)
                yield {"pair": name, "gamma": gamma, "share": share, **errors_at_rate}


def with_chunks() -> Iterator[dict[str, Any]]:
    """Yields a row for each chunk and output: the largest error of a token's time, by share."""
    target, draft = read_pair(CONFIGS / "llama-3.1-8b.json", CONFIGS / "llama-3.1-8b-eagle3.json")
    deployment = Deployment(target, draft, find_hardware("h100"))
    for chunk, output, prompts in CHUNKED:
        errors: dict[float, list[float]] = {share: [] for share in PARTS}
        for prompt, gamma in product(prompts, GAMMAS):
            demand = Demand(prompt, output)
            server = server_of(deployment, demand, chunk, None)
            most = float(max_rate(server, demand, gamma))
            for share in PARTS:
                times = at_rate(server, demand, gamma, share * most, count=4000)
                errors[share].append(times["token_closed"] / times["token"] - 1)
        yield {"chunk": chunk, "prompts": prompts, "output": output, "errors": errors}


def print_chunks(rows: list[dict[str, Any]]) -> None:
    """Prints the largest error of each row by share of the capacity, in per cent."""
    print("| chunk | prompts | outputs |" + "".join(f" at {share:.0%} |" for share in PARTS))
    print("|---|---|---|" + "---|" * len(PARTS))
    for row in rows:
        lengths = ", ".join(f"{prompt:,}" for prompt in row["prompts"])
        worst = [100 * max(row["errors"][share], key=abs) for share in PARTS]
        cells = " | ".join(f"{error:+.1f} %" for error in worst)
        print(f"| {row['chunk']:,} | {lengths} | {row['output']:,} | {cells} |")


def print_near(rows: list[dict[str, Any]]) -> None:
    """Prints the errors of the closed form, with standard errors of the simulation, in per cent."""
    print("| pair | γ | share of capacity | time per token | TTFT |\n|---|---|---|---|---|")
    for row in rows:
        cells = []
        for what in ("token", "first"):
            error = 100 * (row[f"{what}_closed"] / row[what] - 1)
            cells.append(f"{error:+.1f} ± {100 * row[f'{what}_error']:.1f}")
        print(f"| {row['pair']} | {row['gamma']} | {row['share']:.0%} | {' | '.join(cells)} |")


def errors(rows: list[dict[str, Any]], what: str) -> list[tuple[float, str, list[Any]]]:
    """Returns closed form over simulation less 1, by absolute size, the largest first."""
    misses = []
    for row in rows:
        if what == "max_rate":
            misses.append((row["max_rate"] / row["max_rate_simulated"] - 1, "", row["cell"]))
            continue
        for share in SHARES:
            cells = row[f"{share:g}"]
            misses.append((cells[f"{what}_closed"] / cells[what] - 1, f"{share:g}", row["cell"]))
    return sorted(misses, key=lambda miss: -abs(miss[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cells", type=int, help="cells drawn at random in place of all")
    parser.add_argument("--near", action="store_true", help="two deployments near their capacity")
    parser.add_argument("--chunks", action="store_true", help="long chunks and short outputs")
    options = parser.parse_args()
    if options.near:
        close = list(tqdm(near(), total=16, disable=None))
        write_result(options.output, setup("numpy") | {"rows": close})
        print_near(close)
        return
    if options.chunks:
        chunked = list(tqdm(with_chunks(), total=12, disable=None))
        write_result(options.output, setup("numpy") | {"rows": chunked})
        print_chunks(chunked)
        return
    chosen = list(cells())
    if options.cells is not None:
        chosen = Random(0).sample(chosen, options.cells)
    rows = json.loads(options.output.read_text())["rows"] if options.output.exists() else []
    done = {tuple(row["cell"]) for row in rows}
    target, draft = read_pair(CONFIGS / "llama-3.1-8b.json", CONFIGS / "llama-3.1-8b-eagle3.json")
    deployment = Deployment(target, draft, find_hardware("h100"))
    for cell in tqdm([cell for cell in chosen if cell not in done], disable=None):
        rows.append(compared(deployment, cell))
        write_result(options.output, setup("numpy") | {"rows": rows})
    for what in ("max_rate", "token", "first"):
        misses = errors(rows, what)
        sizes = np.abs([miss[0] for miss in misses])
        print(
            f"{what}: mean {100 * sizes.mean():.1f} %, within 5 %: "
            f"{int((sizes <= 0.05).sum())} of {len(sizes)}"
        )
        for error, share, cell in misses[:8]:
            print(f"  {100 * error:+.1f} % {share} {cell}")


if __name__ == "__main__":
    main()
