"""Intervals and advice on simulated servers whose step times jump: coverage, score and loss.

    python benchmarks/jumps.py [--servers 300]

A server's block takes (1 + b + K d) steps, and from a random K on, or at one K only, that is
multiplied by 1 + J or divided by it, for J of 0, 5, 10, 20 and 30 %. Two to five K are run with
noise of 1 to 3 % (each states it). Intervals are judged by the noise-free speed-up: at every K from
1 to 12, at those that were run, and at the others. The score is the interval score of the logarithm
(Gneiting and Raftery 2007): width + (2 / 0.1) × the distance by which the truth lies outside.

The advice may be a K that was not run. "runs first" is the rule that advises the best K that was
run while it gains more than its doubt, and names others as the next run only. Of both: the mean
loss against the best K of 0 to 12, and the share of servers on which the advice is more than 1 %
slower than the best run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.acceptance import Iid
from simulator.choice.plan import Plan, plan
from simulator.cost.fitted.by_batch import cost_of_runs
from simulator.cost.fitted.runs import LoadPoint, Run

JUMPS, GAMMAS = (0.0, 0.05, 0.1, 0.2, 0.3), np.arange(1, 13)
LOAD, MISS = LoadPoint(1024), 2 / 0.1


@dataclass(frozen=True)
class Server:
    """A simulated server: the noise-free time of its step and its blocks, and its acceptance."""

    alpha: float
    step: float
    blocks: NDArray[np.float64]
    runs: tuple[Run, ...]

    @property
    def lengths(self) -> NDArray[np.float64]:
        return np.asarray(Iid(self.alpha).tokens_per_call(GAMMAS))

    @property
    def speed_ups(self) -> NDArray[np.float64]:
        return self.step / self.blocks * self.lengths


def simulated(jump: float, generator: np.random.Generator) -> Server:
    alpha, step = generator.uniform(0.5, 0.9), 0.01
    block = step * 0.2 * np.exp(0.8 * generator.standard_normal())
    drafted = step * 0.08 * np.exp(0.8 * generator.standard_normal())
    blocks = step + block + drafted * GAMMAS
    at, lasts = generator.integers(1, 13), generator.uniform() < 0.75
    hit = at <= GAMMAS if lasts else at == GAMMAS
    blocks = blocks * np.where(hit, (1 + jump) ** generator.choice([1, 1, -1]), 1.0)
    blocks = np.maximum(blocks, step)
    noise = generator.uniform(0.01, 0.03)
    count = generator.integers(1, 5)
    tried = sorted(generator.choice([1, 2, 3, 4, 5, 7, 8, 10, 12], size=count, replace=False))
    lengths = Iid(alpha).tokens_per_call(GAMMAS)

    def run(gamma: int) -> Run:
        wrong = np.exp(noise * generator.standard_normal())
        if gamma == 0:
            return Run(LOAD, step * wrong, error=noise)
        length = float(lengths[gamma - 1])
        return Run(LOAD, blocks[gamma - 1] / length * wrong, gamma, length, noise)

    return Server(alpha, step, blocks, tuple(run(int(gamma)) for gamma in (0, *tried)))


def runs_first(planned: Plan, runs: Sequence[Run]) -> int:
    """Returns the best K that was run if it gains more than its doubt, else the advised one."""
    law = planned.curve.gains
    ran = np.isin(planned.curve.gamma, [run.gamma for run in runs])
    gained = np.where(ran & (law.medians > law.deviation), law.medians, -np.inf)
    at = int(gained.argmax())
    return int(planned.curve.gamma[at]) if gained[at] > 0 else planned.advised_gamma


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=300)
    servers = parser.parse_args().servers
    print("jump  coverage  at runs  elsewhere  half width  score  loss: advice, runs first  "
          "slower than the best run: advice, runs first")  # fmt: skip
    means = []
    for jump in JUMPS:
        generator, rows, losses = np.random.default_rng(round(1000 * jump)), [], []
        for _ in range(servers):
            server = simulated(jump, generator)
            cost = cost_of_runs(server.runs)
            law = cost.posterior.speed_ups(LOAD, GAMMAS.tolist(), server.lengths.tolist())
            low, high = np.log(law.quantile(0.05)), np.log(law.quantile(0.95))
            truth = np.log(server.speed_ups)
            ran = np.isin(GAMMAS, [run.gamma for run in server.runs])
            missed = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
            inside, score = missed <= 0, high - low + MISS * missed
            rows.append([inside.mean(), inside[ran].mean(), inside[~ran].mean(),
                         np.expm1((high - low).mean() / 2), score.mean()])  # fmt: skip
            planned = plan(Iid(server.alpha), cost, max_gamma=12)
            speeds = {0: 0.0, **dict(zip(GAMMAS.tolist(), truth.tolist(), strict=True))}
            best = max(speeds[run.gamma] for run in server.runs)
            advised = [speeds[planned.advised_gamma], speeds[runs_first(planned, server.runs)]]
            losses.append([*(max(speeds.values()) - each for each in advised),
                           *(each < best - 0.01 for each in advised)])  # fmt: skip
        means.append([*np.mean(rows, axis=0), *np.mean(losses, axis=0)])
        print(f"{100 * jump:3.0f} %", *_cells(means[-1]), sep="  ")
    print("mean ", *_cells(np.mean(means, axis=0)), sep="  ")


def _cells(row: list[float] | NDArray[np.float64]) -> list[str]:
    shares = [f"{100 * each:7.1f} %" for each in row[:4]]
    return [*shares, f"{row[4]:6.3f}", *(f"{100 * each:7.2f} %" for each in row[5:])]


if __name__ == "__main__":
    main()
