"""Compares published throughputs of full servers, with and without speculation, with predictions.

    python benchmarks/published_throughputs.py

published_throughputs.csv has output tokens/s of servers that `batch` clients keep busy until
`requests` requests are answered, with the mean lengths of prompts and outputs, the accepted length,
and, where the page states them, the prompt tokens of a step and the tokens that the cache holds.
Each is predicted as `specplan size` prices a replica: times of steps and prompts from a prior
without any row of its source, and the event simulator, from the first request to the last. Lengths
vary between requests by SPREAD of their means, which pages do not state.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from published_fit import KERNELS
from published_machines import kernel_machine, machine_of
from published_rows import draft_class, over_kernels, read_rows
from published_scores import without_source
from published_speculation import table_head, table_row

from simulator.acceptance.acceptance import Iid
from simulator.acceptance.tokens import alpha_from_block_efficiency
from simulator.cost.fitted.fit import ParametricCost, infer
from simulator.cost.fitted.kernels import KernelMachine
from simulator.cost.fitted.machine import RooflineMachine
from simulator.cost.fitted.prior import Traits, published_prior
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.cost import RooflineCost
from simulator.cost.setting import CostSetting
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand
from simulator.traffic.events import serve
from simulator.traffic.server import Prompts, Server, by_batch

TABLE = Path(__file__).with_name("published_throughputs.csv")
SPREADS = (0.0, 0.5)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Compared:
    """Tokens/s of a row without speculation and with it, as measured and as predicted."""

    facts: dict[str, str]
    measured: tuple[float, float]
    predicted: tuple[float, float]

    @property
    def gain(self) -> float:
        return self.measured[1] / self.measured[0]

    @property
    def predicted_gain(self) -> float:
        return self.predicted[1] / self.predicted[0]


def server_of(facts: dict[str, str], effects: dict[str, dict[str, Any]]) -> Server:
    """Returns the server of a row; effects: of priors over the roofline and over kernels."""
    names = ("shape", "weights", "draft_shape", "gpu", "tp")
    served = machine_of(
        *(facts[name] for name in names), "", "", "", expands=False, trees=(), launch=None
    )
    assert isinstance(served, RooflineMachine)
    machine = kernel_machine(served, facts["engine"]) or served
    over = "kernels" if isinstance(machine, KernelMachine) else "roofline"
    several = served.deployment.conditions.gpus > 1
    traits = Traits(facts["engine"], draft_class(facts["kind"]), several=several)
    prior, bare = (
        published_prior(kind, effects=effects[over], over=over)
        for kind in (traits, replace(traits, draft=None))
    )
    posterior = infer(machine, prior, [], infer(machine, bare, []))
    gamma, slots = int(facts["gamma"]), int(facts["batch"])
    context = int(facts["prompt"]) + int(facts["output"]) // 2
    batches = [*(batch for batch in BATCHES if batch < slots), slots]
    costs = [ParametricCost(posterior, LoadPoint(context, batch)) for batch in batches]
    times = [[cost.baseline_seconds, *gamma * [cost.block_seconds([gamma])[0]]] for cost in costs]
    deployment = served.deployment
    reading = RooflineCost(
        costs[0], setting=CostSetting(), deployment=deployment, point=LoadPoint(context, 1)
    )
    chunk = int(facts["chunk"])
    prompts = {n: reading.prompt_seconds(n)[1] for n in (1, 256, 1024, 4096, chunk)}
    alpha = float(alpha_from_block_efficiency(float(facts["length"]), gamma))
    blocks = Blocks.of(Iid(alpha), gamma)
    return Server(by_batch(batches, times, slots), blocks, Prompts(prompts, chunk))


def tokens_per_second(server: Server, facts: dict[str, str], gamma: int, spread: float) -> float:
    """Returns the tokens/s of a server from the first request to the last token."""
    prompt, output, count = (int(facts[name]) for name in ("prompt", "output", "requests"))
    lengths = Demand(prompt, output, spread, spread).arrivals(1.0, count, seed=0)
    requests = replace(lengths, seconds=np.zeros(count))
    held = facts["cache_with" if gamma else "cache_without"]
    known = replace(server, cache_tokens=float(held) if held else None)
    return serve(known, requests, gamma, seed=0).tokens_per_second


def compared(facts: dict[str, str], effects: dict[str, dict[str, Any]], spread: float) -> Compared:
    server, gamma = server_of(facts, effects), int(facts["gamma"])
    without, drafting = (
        tokens_per_second(server, facts, drafted, spread) for drafted in (0, gamma)
    )
    measured = float(facts["without"]), float(facts["with"])
    return Compared(facts, measured, (without, drafting))


def summary(name: str, rows: Sequence[Compared]) -> str:
    """Returns the mean errors of throughputs and gains as a row of a table."""
    plain, drafting = (
        np.array([row.predicted[way] / row.measured[way] - 1 for row in rows]) for way in (0, 1)
    )
    gains = np.array([row.predicted_gain / row.gain - 1 for row in rows])
    cells = [name, str(len(rows))]
    for errors in (plain, drafting, gains):
        cells += [f"{np.abs(errors).mean():.1%}", f"{errors.mean():+.1%}"]
    return table_row(cells)


def main() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    owners = {facts["source"].split("/")[0] for facts in table}
    every, _ = read_rows()
    fitted = {
        "roofline": without_source(every, only=owners),
        "kernels": without_source(over_kernels(every), KERNELS, only=owners),
    }
    for spread in SPREADS:
        print(f"\nSpread of lengths {spread:g}:\n")
        print("\n".join(tables(table, fitted, spread)))


def tables(
    table: Sequence[dict[str, str]], fitted: dict[str, dict[str, dict[str, Any]]], spread: float
) -> list[str]:
    """Returns the rows and their mean errors as tables."""
    rows = []
    for facts in table:
        owner = facts["source"].split("/")[0]
        left_out = {over: effects[owner] for over, effects in fitted.items()}
        rows.append(compared(facts, left_out, spread))
    heads = ("draft", "K", "batch limit", "prompt, output", "without, measured", "predicted",
             "with, measured", "predicted", "gain, measured", "predicted")  # fmt: skip
    lines = [table_head(heads)]
    for row in rows:
        facts = row.facts
        cells = (facts["kind"], facts["gamma"], facts["batch"],
                 f"{facts['prompt']}, {facts['output']}",
                 f"{row.measured[0]:.0f}", f"{row.predicted[0]:.0f}",
                 f"{row.measured[1]:.0f}", f"{row.predicted[1]:.0f}",
                 f"{row.gain:.2f}", f"{row.predicted_gain:.2f}")  # fmt: skip
        lines.append(table_row(cells))
    what = [f"{of}, {kind}" for of in ("without", "with", "gain") for kind in ("error", "bias")]
    lines += ["", table_head(("", "rows", *what)), summary("all", rows)]
    for key in ("kind", "gamma", "batch", "prompt"):
        for value in dict.fromkeys(row.facts[key] for row in rows):
            some = [row for row in rows if row.facts[key] == value]
            lines.append(summary(f"{key} {value}", some))
    return lines


if __name__ == "__main__":
    main()
