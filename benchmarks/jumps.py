"""Intervals and advice on simulated servers whose step times jump: coverage, score and loss.

    python benchmarks/jumps.py [--servers 300]

A server's block takes (1 + b + K d) steps, and from a random K on, or at one K only, that is
multiplied by 1 + J or divided by it, for J of 0, 5, 10, 20 and 30 %. Two to five K are run with
noise of 1 to 3 % (each states it). Intervals are judged by the noise-free speed-up: at every K from
1 to 12, at those that were run, and at the others. The score is the interval score of the logarithm
(Gneiting and Raftery 2007): width + (2 / 0.1) × the distance by which the truth lies outside.

A plan advises a K, which may not have been run, and names the run to make next. Three users: one
serves the advised K at once; one serves the fastest run for good; one makes the next run, and then
serves the fastest run. Of each: the mean loss against the best K of 0 to 12, and the share of
servers that are more than 1 % slower than the best of the first runs. The last table is of users
who serve the fastest run unless another K is estimated faster by some share, and then that K.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.acceptance import Iid
from simulator.choice.plan import Plan, plan
from simulator.cost.fitted.by_batch import cost_of_runs
from simulator.cost.fitted.runs import LoadPoint, Run

JUMPS, GAMMAS = (0.0, 0.05, 0.1, 0.2, 0.3), np.arange(1, 13)
MARGINS = (0.0, 0.01, 0.02, 0.03, 0.05)
LOAD, MISS = LoadPoint(1024), 2 / 0.1


@dataclass(frozen=True)
class Server:
    """A simulated server: the noise-free time of its step and its blocks, and its acceptance."""

    alpha: float
    step: float
    blocks: NDArray[np.float64]
    noise: float

    @property
    def lengths(self) -> NDArray[np.float64]:
        return np.asarray(Iid(self.alpha).tokens_per_call(GAMMAS))

    @property
    def speed_ups(self) -> NDArray[np.float64]:
        return self.step / self.blocks * self.lengths

    def run(self, gamma: int, generator: np.random.Generator) -> Run:
        wrong = np.exp(self.noise * generator.standard_normal())
        if gamma == 0:
            return Run(LOAD, self.step * wrong, error=self.noise)
        length = float(self.lengths[gamma - 1])
        seconds = self.blocks[gamma - 1] / length * wrong
        return Run(LOAD, seconds, gamma, length, self.noise)


def simulated(jump: float, generator: np.random.Generator) -> tuple[Server, list[Run]]:
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
    server = Server(alpha, step, blocks, noise)
    return server, [server.run(int(gamma), generator) for gamma in (0, *tried)]


def kept(planned: Plan) -> int:
    """Returns the advised K if it was run, else the fastest run."""
    fastest = planned.fastest_run
    return planned.advised_gamma if fastest is None else fastest.gamma


def within(planned: Plan, runs: list[Run], share: float) -> int:
    """Returns the fastest run unless another K is estimated faster by `share`, else that K."""
    medians = np.concatenate([[0.0], planned.curve.gains.medians])
    ran = max({run.gamma for run in runs}, key=medians.__getitem__)
    if medians.max() <= medians[ran] + np.log1p(share):
        return ran
    return min(planned.within(planned.near))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=300)
    servers = parser.parse_args().servers
    print("jump  coverage  at runs  elsewhere  half width  score  loss: advised, kept, run  "
          "slower than the best run: advised, kept, run")  # fmt: skip
    means, choices = list[list[float]](), list[list[float]]()
    for jump in JUMPS:
        generator, rows, losses = np.random.default_rng(round(1000 * jump)), [], []
        later = np.random.default_rng(7 + round(1000 * jump))
        for _ in range(servers):
            server, runs = simulated(jump, generator)
            cost = cost_of_runs(runs)
            law = cost.posterior.speed_ups(LOAD, GAMMAS.tolist(), server.lengths.tolist())
            low, high = np.log(law.quantile(0.05)), np.log(law.quantile(0.95))
            truth = np.log(server.speed_ups)
            ran = np.isin(GAMMAS, [run.gamma for run in runs])
            missed = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
            inside, score = missed <= 0, high - low + MISS * missed
            rows.append([inside.mean(), inside[ran].mean(), inside[~ran].mean(),
                         np.expm1((high - low).mean() / 2), score.mean()])  # fmt: skip
            planned = plan(Iid(server.alpha), cost, max_gamma=12)
            speeds = {0: 0.0, **dict(zip(GAMMAS.tolist(), truth.tolist(), strict=True))}
            best = max(speeds[run.gamma] for run in runs)
            users = [planned.advised_gamma, kept(planned)]
            again, following = planned, planned.advice.next_run
            if following is not None:
                more = [*runs, server.run(following.gamma, later)]
                again = plan(Iid(server.alpha), cost_of_runs(more), max_gamma=12)
            reached = [speeds[gamma] for gamma in (*users, kept(again))]
            losses.append([*(max(speeds.values()) - speed for speed in reached),
                           *(speed < best - 0.01 for speed in reached)])  # fmt: skip
            chosen = [speeds[within(planned, runs, share)] for share in MARGINS]
            choices.append([max(speeds.values()) - speed for speed in chosen]
                           + [speed < best - 0.01 for speed in chosen])  # fmt: skip
        means.append([*np.mean(rows, axis=0), *np.mean(losses, axis=0)])
        print(f"{100 * jump:3.0f} %", *_cells(means[-1]), sep="  ")
    print("mean ", *_cells(np.mean(means, axis=0)), sep="  ")
    print("unless faster by  loss  slower than the best run")
    every = 100 * np.mean(choices, axis=0).reshape(2, -1)
    for share, loss, slower in zip(MARGINS, *every, strict=True):
        print(f"{100 * share:3.0f} %  {loss:5.2f} %  {slower:5.1f} %")


def _cells(row: list[float] | NDArray[np.float64]) -> list[str]:
    shares = [f"{100 * share:7.1f} %" for share in row[:4]]
    return [*shares, f"{row[4]:6.3f}", *(f"{100 * share:7.2f} %" for share in row[5:])]


if __name__ == "__main__":
    main()
