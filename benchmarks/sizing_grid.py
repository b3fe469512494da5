"""The rate at which a share of requests meets targets, and GPUs, against longer simulations.

    python benchmarks/sizing_grid.py -o grid.json [--cases 100]

Each case draws a deployment, prompts, outputs, chunks, a batch limit, a γ, targets, and a rate. The
true limit is the mean of the limits of four simulations of 25,000 requests, with other seeds than
`specplan size` has, for the number of replicas that it finds; their standard error is printed.
The true number of replicas is the least with which simulations of all replicas keep the share.
Cases that the file already has are skipped.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from result_file import setup, write_result
from tqdm import tqdm
from traffic_closed_form import CONFIGS

from estimator.model_shapes.drafts import read_pair
from simulator.acceptance.acceptance import Iid
from simulator.cost.roofline.deployment import Deployment, prompt_seconds, roofline_cost
from simulator.cost.roofline.hardware import find_hardware
from simulator.cost.roofline.sharing import Conditions
from simulator.traffic.blocks import Blocks
from simulator.traffic.counted import closed_fleet, simulated_fleet
from simulator.traffic.demand import Demand, LatencyTargets
from simulator.traffic.fleet import Fleet, Goal, Replica
from simulator.traffic.limit import in_turn, simulated_limit
from simulator.traffic.pair import Pair
from simulator.traffic.promise import binding, promise
from simulator.traffic.server import Prompts, Server, by_batch

PAIRS = (("llama-3.1-8b", 1), ("qwen3-14b", 1), ("qwen3-32b", 2), ("llama-3.3-70b", 4))
BATCHES, LONGEST = (1, 2, 4, 8, 16, 32, 64, 128, 256), 5
SHARE, SEEDS, REQUESTS = 0.95, (101, 102, 103, 104), 25_000


def replica_of(name: str, gpus: int, demand: Demand, *, slots: int, chunk: int) -> Replica:
    """Returns a replica on H100s with EAGLE-3 by the roofline, α 0.7; its cache is not full."""
    target, draft = read_pair(CONFIGS / f"{name}.json", CONFIGS / f"{name}-eagle3.json")
    deployment = Deployment(target, draft, find_hardware("h100"), Conditions(tp=gpus))
    gammas, context = np.arange(1, LONGEST + 1), round(demand.context)
    costs = [roofline_cost(deployment, context=context, batch=batch) for batch in BATCHES]
    times = [[cost.baseline_seconds, *cost.block_seconds(gammas)] for cost in costs]
    places = sorted({1, 64, 256, 512, 2048, 8192, int(demand.prompt_tokens)})
    alone, both = zip(*(prompt_seconds(deployment, n) for n in places), strict=True)
    blocks = Blocks.of(Iid(0.7), LONGEST)
    reading = Prompts(dict(zip(places, both, strict=True)), chunk)
    server = Server(by_batch(BATCHES, times, slots), blocks, reading)
    bare = server.without(Prompts(dict(zip(places, alone, strict=True)), chunk))
    return Replica("h100", gpus, Pair(server, bare, demand, tuple(gammas.tolist())), tp=gpus)


def case_of(number: int) -> tuple[dict[str, Any], Replica, int, Goal]:
    """Returns a case's description, its replica, γ and goal; number: seed of the draw."""
    generator = np.random.default_rng(number)
    name, gpus = PAIRS[generator.integers(len(PAIRS))]
    prompt, output = generator.choice([200, 1000, 4000]), generator.choice([50, 300, 1000])
    chunk, slots = generator.choice([2048, 8192]), generator.choice([64, 256])
    gamma, demand = int(generator.choice([0, 1, 3, 5])), Demand(float(prompt), float(output))
    replica = replica_of(name, gpus, demand, slots=int(slots), chunk=int(chunk))
    idle = replica.pair.under(gamma, 1e-3)
    first, token = generator.uniform(3, 20), generator.uniform(1.3, 3)
    targets = LatencyTargets(first * idle.first_seconds.item(), token * idle.token_seconds.item())
    rate = generator.uniform(0.5, 8) * float(idle.max_rate)
    described = {
        "number": number, "target": name, "tp": gpus, "prompt": int(prompt),
        "output": int(output), "chunk": int(chunk), "slots": int(slots), "gamma": gamma,
        "ttft": first, "tpot": token, "rate": rate,
    }  # fmt: skip
    return described, replica, gamma, Goal(rate, targets, SHARE)


def compared(number: int) -> dict[str, Any]:
    """Returns a case with the limits and replicas by each way; replicas None: 1,024 GPUs miss."""
    row, replica, gamma, goal = case_of(number)
    guess = closed_fleet(replica, gamma, goal) or Fleet(replica, gamma, 1024 // replica.gpus, goal)
    fleet = simulated_fleet(guess)
    if fleet is None:
        return row | {"replicas": None}
    server, demand = replica.pair.server(gamma), in_turn(replica.pair.demand, fleet.replicas)
    limits = [
        simulated_limit(server, demand, gamma, goal.targets, SHARE, requests=REQUESTS, seed=seed)
        for seed in SEEDS
    ]
    needed = fleet
    while needed.replicas > 1 and kept(needed.of(needed.replicas - 1)):
        needed = needed.of(needed.replicas - 1)
    while not kept(needed):
        needed = needed.of(needed.replicas + 1)
    return row | {
        "replicas": fleet.replicas,
        "replicas_closed": guess.replicas,
        "replicas_true": needed.replicas,
        "binds": binding(fleet),
        "limit": fleet.limit,
        "limit_closed": fleet.closed_limit,
        "limit_true": fleet.replicas * float(np.mean(limits)),
        "error": float(np.std(limits, ddof=1) / np.mean(limits) / len(limits) ** 0.5),
    }


def kept(fleet: Fleet) -> bool:
    """Returns whether all replicas of a fleet keep the share of Poisson arrivals."""
    count = max(REQUESTS, 8000 * fleet.replicas)
    return bool(np.mean([promise(fleet, requests=count, seed=s).share for s in SEEDS]) >= SHARE)


def summary(rows: list[dict[str, Any]]) -> str:
    """Returns the errors of limits and counts as text."""
    known = [row for row in rows if row["replicas"] is not None]
    lines = [f"{len(rows)} cases, {len(known)} with a fleet of at most 1,024 GPUs"]
    spread = np.array([row["error"] for row in known])
    lines.append(
        f"standard error of the truth: median {np.median(spread):.2%}, most {spread.max():.2%}"
    )
    for name, key in (("simulated", "limit"), ("closed form", "limit_closed")):
        errors = np.array([row[key] / row["limit_true"] - 1 for row in known])
        sizes = np.abs(errors)
        lines.append(
            f"limit, {name}: mean {sizes.mean():.1%}, within 3 %: {(sizes <= 0.03).sum()}, "
            f"within 10 %: {(sizes <= 0.1).sum()}, worst {errors[sizes.argmax()]:+.1%}"
        )
    for name, key in (("simulated", "replicas"), ("closed form", "replicas_closed")):
        more = np.array([row[key] - row["replicas_true"] for row in known])
        counts = ((more == 0).sum(), (more == 1).sum(), (more < 0).sum(), (more > 1).sum())
        lines.append(
            f"replicas, {name}: equal {counts[0]}, one more {counts[1]}, fewer {counts[2]}, "
            f"two or more too many {counts[3]}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cases", type=int, default=100)
    options = parser.parse_args()
    rows = json.loads(options.output.read_text())["rows"] if options.output.exists() else []
    done = {row["number"] for row in rows}
    for number in tqdm([n for n in range(options.cases) if n not in done], disable=None):
        rows.append(compared(number))
        write_result(options.output, setup("numpy") | {"rows": rows})
    print(summary(rows))


if __name__ == "__main__":
    main()
