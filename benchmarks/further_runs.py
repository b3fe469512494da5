"""Gains of further runs: tunings of servers whose step times jump, and next runs of plans.

    python benchmarks/further_runs.py [--servers 60] [--drafts 2000] [--plans 34]

`jumps.py` makes the servers. A tuning runs K = 0, then each K that the search wants. A run's error
combines 1 % of its step's time with the error of its mean length, as in `tune`.
Printed: runs, the loss against the best K, how often the interval of the advised K holds its
noise-free speed-up, how often the advice is more than 1 % slower than its best run, and how much
the stated speed-up is above the noise-free one. Below: the stated probability that the K of the end
is faster than its closest measured rival, and how often it is.

The stated gain of a plan's next run is compared with a simulation that does not use its formula: a
world is drawn from the plan's own law, the run is made there, everything is planned again with it,
and the new advice is worth its speed in that world, less the speed of today's advice.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from jumps import JUMPS, LOAD, Server, simulated

from engines.tuning.outlook import Outlook
from simulator.acceptance.acceptance import Iid
from simulator.choice.advice import REPEAT, NextRun
from simulator.choice.plan import Plan, plan
from simulator.cost.fitted.by_batch import cost_of_runs
from simulator.cost.fitted.runs import Run

LONGEST, WORTH, ERROR = 12, 0.002, 0.01


def tuned(server: Server, drafts: int, generator: np.random.Generator) -> tuple[Outlook, list[Run]]:
    """Returns what a tuning knows at its end, and its runs, each with so many sampled drafts."""
    runs: list[Run] = []
    gamma: int | None = 0
    while gamma is not None:
        seconds = server.step if gamma == 0 else float(server.blocks[gamma - 1])
        rates, length, sampled = (), 1.0, 0.0
        if gamma > 0:
            stood = [drafts]
            for _ in range(gamma):
                stood.append(int(generator.binomial(stood[-1], server.alpha)))
            rates = tuple(count / drafts for count in stood[1:])
            length = 1 + sum(rates)
            places = np.arange(1, gamma + 1)
            squares = float((2 * places - 1) @ rates)  # mean square of the accepted tokens
            sampled = float(np.sqrt((squares - (length - 1) ** 2) / drafts) / length)
        seconds *= float(np.exp(ERROR * generator.standard_normal())) / length
        error, counted = float(np.hypot(ERROR, sampled)), drafts if gamma else None
        runs.append(Run(LOAD, seconds, gamma, length, error, rates, counted, length_error=sampled))
        now = Outlook(runs, LOAD, longest=LONGEST, worth=WORTH)
        gamma = now.next_gamma
    return now, runs


def tunings(servers: int, drafts: int) -> None:
    print("jump   runs   loss  in interval  slower than its best run  stated too high by")
    every, odds = [], []
    for jump in JUMPS:
        generator, rows = np.random.default_rng(round(1000 * jump)), []
        for _ in range(servers):
            server, _ = simulated(jump, generator)
            now, runs = tuned(server, drafts, generator)
            truth = np.concatenate([[0.0], np.log(server.speed_ups)])
            advised = now.best_run if now.advice.gamma > 0 else 0
            middle, low, high = now.gain(advised)
            best = max(truth[run.gamma] for run in runs)
            rivals = now.advised(advised, None).faster_than if advised > 0 else {}
            rivals.pop(0, None)
            if rivals:
                rival = min(rivals, key=rivals.__getitem__)
                odds.append((rivals[rival], truth[advised] > truth[rival]))
            rows.append([len(runs), truth.max() - truth[advised],
                         low <= np.exp(truth[advised]) <= high,
                         truth[advised] < best - 0.01,
                         np.log(middle) - truth[advised]])  # fmt: skip
        every.append(np.mean(rows, axis=0))
        _print(f"{100 * jump:3.0f} %", every[-1])
    _print(" mean", np.mean(every, axis=0))
    predicted, faster = np.array(odds).T
    print("odds against the closest rival: tunings, stated on average, faster")
    for low, high in pairwise((0.0, 0.5, 0.7, 0.9, 1.001)):
        some = (low <= predicted) & (predicted < high)
        shares = (100 * float(values[some].mean()) for values in (predicted, faster))
        print(f"{low:.1f} to {min(high, 1):.1f}  {some.sum():4d}", *map("{:5.1f} %".format, shares))


def _print(name: str, row: Sequence[float]) -> None:
    runs, *shares = row
    print(name, f"{runs:5.2f}", *(f"{100 * share:6.2f} %" for share in shares), sep="  ")


def simulated_gain(
    planned: Plan, runs: Sequence[Run], following: NextRun, worlds: int
) -> tuple[float, float]:
    """Returns the mean logarithmic gain of the advice after the run, and its standard error."""
    generator = np.random.default_rng(1)
    draws = planned.curve.gains.draws
    lengths = np.asarray(planned.acceptance.tokens_per_call(planned.curve.gamma))
    gained = []
    for index in generator.choice(len(draws), worlds, replace=False):
        world = np.concatenate([[0.0], draws[index]])
        wrong = REPEAT * generator.standard_normal()
        seconds = planned.curve.baseline * np.exp(wrong - world[following.gamma])
        length = float(lengths[following.gamma - 1])
        new = Run(LOAD, float(seconds), following.gamma, length, REPEAT)
        after = plan(planned.acceptance, cost_of_runs([*runs, new]), max_gamma=LONGEST)
        gained.append(world[after.advised_gamma] - world[planned.advised_gamma])
    return float(np.mean(gained)), float(np.std(gained) / np.sqrt(worlds))


def next_runs(plans: int, worlds: int) -> None:
    print("stated  simulated  standard error, in per cent of speed")
    generator, pairs = np.random.default_rng(5), []
    while len(pairs) < plans:
        server, runs = simulated(float(generator.choice(JUMPS)), generator)
        planned = plan(Iid(server.alpha), cost_of_runs(runs), max_gamma=LONGEST)
        following = planned.advice.next_run
        if following is not None and following.gamma > 0:
            gain, error = simulated_gain(planned, runs, following, worlds)
            pairs.append((following.gain, gain, error))
            print("".join(f"{100 * value:8.2f}" for value in pairs[-1]))
    printed, gain, error = np.array(pairs).T
    inside, whole = np.abs(printed - gain) <= 2 * error, np.sqrt((error**2).sum()) / plans
    high = gain + 2 * error < printed / 2
    print(f"mean {100 * printed.mean():.2f} stated, {100 * gain.mean():.2f} ± {100 * whole:.2f} "
          f"simulated; {inside.sum()} of {plans} within two standard errors; {high.sum()} over "
          "twice the simulated gain with its error")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=60)
    parser.add_argument("--drafts", type=int, default=2000)
    parser.add_argument("--plans", type=int, default=34)
    parser.add_argument("--worlds", type=int, default=100)
    options = parser.parse_args()
    tunings(options.servers, options.drafts)
    next_runs(options.plans, options.worlds)


if __name__ == "__main__":
    main()
