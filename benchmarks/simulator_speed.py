"""How fast the simulator is on one core, and how much memory each job takes at its peak.

    python benchmarks/simulator_speed.py

Each job runs in a process of its own, inputs included in its memory but not in its time; the best
of three runs counts. On a busy machine its processor seconds say what an idle one would take. The
limits are what the project asks of itself.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from simulator.acceptance.replay import expected_calls, expected_seconds
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.optimum import optimal_gamma
from simulator.choice.walltime import improvement_factor, operations_factor
from simulator.cost.curves import CostModel
from simulator.monte_carlo.blocks import simulate_blocks

REPEATS = 3
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def closed_forms() -> Callable[[], object]:
    rng = np.random.default_rng(0)
    points = 10_000_000
    alpha, c, c_hat = rng.random(points), rng.random(points), rng.random(points)
    gamma = rng.integers(0, 17, points)
    return lambda: (
        expected_tokens(alpha, gamma),
        improvement_factor(alpha, gamma, c),
        operations_factor(alpha, gamma, c_hat),
    )


def optimum() -> Callable[[], object]:
    rng = np.random.default_rng(0)
    alpha, c = rng.random(1_000_000), rng.random(1_000_000) * 0.2
    return lambda: optimal_gamma(alpha, c, max_gamma=32)


def replay() -> Callable[[], object]:
    acceptance = np.random.default_rng(0).random(100_000)
    return lambda: expected_calls(acceptance, np.arange(1, 17))


def replay_seconds() -> Callable[[], object]:
    acceptance = np.random.default_rng(0).random(100_000)
    cost = CostModel({1: 1.0, 2: 1.4, 17: 2.0}, 0.1, 0.05)
    return lambda: [
        expected_seconds(acceptance, gamma, cost=cost) for gamma in range(1, 17)
    ]


def blocks_fixed() -> Callable[[], object]:
    generator = np.random.default_rng(0)
    return lambda: simulate_blocks(
        lambda size: np.broadcast_to(0.8, size), 5, blocks=10_000_000, generator=generator
    )


def blocks_beta() -> Callable[[], object]:
    generator = np.random.default_rng(0)
    return lambda: simulate_blocks(
        lambda size: generator.beta(2.4, 0.6, size), 5, blocks=2_000_000, generator=generator
    )


# Name: job, what it does, limit in seconds.
JOBS = {
    "closed-forms": (closed_forms, "Eq. 1, Theorems 8 and 10 on 10^7 points", 2.0),
    "optimum": (optimum, "optimal gamma of 10^6 pairs", 1.0),
    "replay": (replay, "calls by replay, 10^5 positions, gamma 1..16", 0.5),
    "replay-seconds": (replay_seconds, "seconds by replay, 10^5 positions, gamma 1..16", 0.5),
    "blocks-fixed": (blocks_fixed, "10^7 blocks, alpha 0.8, gamma 5", 1.0),
    "blocks-beta": (blocks_beta, "2·10^6 blocks, Beta law of mean 0.8, gamma 5", 1.0),
}


def measure(name: str) -> None:
    """Prints seconds, processor seconds and peak megabytes of one job."""
    job = JOBS[name][0]()
    seconds, processor = [], []
    for _ in range(REPEATS):
        began, worked = time.perf_counter(), time.process_time()
        job()
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - worked)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(min(seconds), min(processor), peak)


def main() -> None:
    print(f"{'job':48}  {'seconds':>8}  {'processor':>9}  {'limit':>5}  {'peak MiB':>8}")
    for name, (_, description, limit) in JOBS.items():
        command = [sys.executable, __file__, name]
        output = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD
        ).stdout
        seconds, processor, peak = map(float, output.split())
        verdict = "" if seconds <= limit else "  over the limit"
        measured = f"{seconds:8.3f}  {processor:9.3f}  {limit:5.1f}  {peak:8.0f}"
        print(f"{description:48}  {measured}{verdict}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        main()
