"""Compares the kernel library's own estimate of multi-token prediction with ours on public rows.

    PYTHONPATH=.venv/kernels python benchmarks/published_mtp.py

The library (aiconfigurator-core) prices a decoding step of its own model of the target, and a step
that verifies `nextn` drafted tokens; a block emits as many tokens as the row states. Rows are those
whose GPU and server it covers and whose target it models. Ours is the prior without the row's
source. Experts are divided by their width, as tensor parallelism does. Half a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from published_machines import PublishedRoofline
from published_rows import USUAL_CONTEXT, Row, over_kernels, read_rows
from published_scores import Guess, guess, plain_step, without_source
from published_speculation import table_head, table_row

from estimator.costs.kernel_tables import SERVERS, SYSTEMS, missing
from simulator.cost.roofline.deployment import Deployment

# Targets of the table by the names that the library's models have.
MODELS = {
    "DeepSeek-V3": "deepseek-ai/DeepSeek-V3",
    "Qwen3.5-397B-A17B": "nvidia/Qwen3.5-397B-A17B-NVFP4",
}


def deployment_of(row: Row) -> Deployment:
    machine = row.machine
    assert isinstance(machine, PublishedRoofline)
    return machine.deployment


def covered(row: Row) -> bool:
    """Returns whether the library models a row's target on its GPU and server."""
    gpu, engine = deployment_of(row).hardware.name, row.facts["engine"]
    known = row.facts["shape"] in MODELS and row.traits.draft == "MTP"
    return known and missing(gpu, engine) is None


@cache
def engine_of(model: str, gpu: str, engine: str, tp: int, gamma: int) -> Any:
    """Returns the library's engine that drafts so many tokens a step; 0: none."""
    from aiconfigurator_core.sdk.engine import EngineHandle

    logging.getLogger("aiconfigurator_core").setLevel(logging.CRITICAL)
    return EngineHandle.compile(
        model, SYSTEMS[gpu], SERVERS[engine], tp_size=tp, moe_tp_size=tp, nextn=gamma
    )


def step_seconds(row: Row, gamma: int) -> float:
    """Returns the library's time of a step at a row's load."""
    deployment = deployment_of(row)
    gpu, gpus = deployment.hardware.name, deployment.conditions.gpus
    engine = engine_of(MODELS[row.facts["shape"]], gpu, row.facts["engine"], gpus, gamma)
    context = int(row.facts["context"] or USUAL_CONTEXT)
    return float(engine.decode_step_latency(row.run.load.batch, context, 2)) / 1e3


def errors(name: str, logs: Sequence[float]) -> str:
    """Returns a row of the table of errors."""
    off = np.expm1(logs)
    largest = off[np.abs(off).argmax()]
    cells = (f"{np.abs(off).mean():.1%}", f"{off.mean():+.1%}", f"{largest:+.1%}")
    return table_row((name, str(len(off)), *cells))


def main() -> None:
    every, _ = read_rows()
    rows = [row for row in every if covered(row)]
    if not rows:
        print("No row is covered.")
        return
    effects = without_source(every, only={row.owner for row in rows})
    ours: list[tuple[Guess, Guess]] = []
    theirs: list[tuple[float, float]] = []
    head = ("", "K", "batch", "step measured, ms", "library", "ours", "speed-up measured",
            "library", "ours", "90 %")  # fmt: skip
    print(table_head(head))
    for row in rows:
        step, gain = plain_step(row, effects[row.owner]), guess(row, [], effects[row.owner])
        plain = step_seconds(row, 0)
        library = plain / step_seconds(row, row.run.gamma) * row.run.length
        ours.append((step, gain))
        theirs.append((np.log(plain) - step.measured, np.log(library) - gain.measured))
        facts, gpus = row.facts, deployment_of(row).conditions.gpus
        print(table_row((
            f"{facts['shape']}, {gpus} × {facts['gpu']}, {facts['engine']}", facts["gamma"],
            facts["batch"], f"{1e3 * np.exp(step.measured):.1f}", f"{1e3 * plain:.1f}",
            f"{1e3 * np.exp(step.log):.1f}", f"{row.speed_up:.2f}", f"{library:.2f}",
            f"{np.exp(gain.log):.2f}", f"{np.exp(gain.low):.2f} to {np.exp(gain.high):.2f}",
        )))  # fmt: skip
    print("\n" + table_head(("error", "rows", "mean", "bias", "largest")))
    print(errors("step, library", [step for step, _ in theirs]))
    print(errors("step, ours", [step.log - step.measured for step, _ in ours]))
    print(errors("speed-up, library", [gain for _, gain in theirs]))
    print(errors("speed-up, ours", [gain.log - gain.measured for _, gain in ours]))
    print(f"\n{len(over_kernels(rows))} of these rows have nothing but measured kernels.")


if __name__ == "__main__":
    main()
