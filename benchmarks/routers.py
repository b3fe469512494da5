"""Compares a router that knows the load of each replica with taking turns, by simulation.

    python benchmarks/routers.py [--requests 20000]

Takes the deployment that `specplan size` finds for the first question of docs/sizing.md, and looks
for the largest rate at which 95 % of requests keep both targets. Three routers get the same
requests: in turn, at random, and to the replica with the fewest requests (waiting, being read and
being decoded; equal ones in turn). A replica's past does not depend on later arrivals, so all
replicas are advanced to each arrival before it is placed. Equal lengths, and lengths that vary
(standard deviation over mean 0.5 and 1).
"""

import argparse
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

import specplan as sp
from simulator.traffic.demand import Demand, Requests, SimulationResult
from simulator.traffic.events import _Run
from simulator.traffic.fleet import Fleet
from simulator.traffic.limit import largest

SHARE, SPREADS, SEED = 0.95, (0.0, 0.5, 1.0), 7
PROMPT, OUTPUT, RATE, TARGETS_MS = 1000, 300, 40, {"ttft": 500, "tpot": 30}
CONFIGS = "docs/configs/llama-3.3-70b"
# Chooses a replica; arguments: number of the arrival, requests at each replica, random numbers.
Router = Callable[[int, Sequence[int], np.random.Generator], int]
ROUTERS: dict[str, Router] = {
    "in turn": lambda number, held, _: number % len(held),
    "at random": lambda _, held, generator: int(generator.integers(len(held))),
    "fewest requests": lambda number, held, _: min(
        range(len(held)), key=lambda place: (held[place], (place - number) % len(held))
    ),
}


def advance(run: _Run, until: float) -> None:
    """Simulates a replica until its clock passes a time, or it has nothing to do."""
    while run.clock < until and (run.ends or run.reading):
        run.take()
        if run.reading:
            run.read_chunk()
        else:
            run.decode()


def share(fleet: Fleet, requests: Requests, router: Router) -> float:
    """Returns the share of requests within the targets if a router places each on arrival."""
    server, generator = fleet.replica.pair.server(fleet.gamma), np.random.default_rng(SEED)
    # Equal seeds: a request needs the same blocks wherever it is placed.
    runs = [_Run(server, requests, fleet.gamma, SEED) for _ in range(fleet.replicas)]
    for run in runs:
        run.waiting = deque()
    placed = np.empty(len(requests.seconds), dtype=np.int64)
    for number, seconds in enumerate(requests.seconds.tolist()):
        for run in runs:
            # The next arrival bounds how far the steps of a free replica are simulated at once.
            run.waiting.append(number)
            advance(run, seconds)
            if run.waiting and run.waiting[-1] == number:
                run.waiting.pop()
        held = [len(run.waiting) + len(run.reading) + len(run.ends) for run in runs]
        placed[number] = router(number, held, generator)
        runs[placed[number]].waiting.append(number)
        runs[placed[number]].take()
    for run in runs:
        while run.waiting or run.reading or run.ends:
            run.take()
            advance(run, np.inf)
    first, last = (
        np.min([getattr(run, name) for run in runs], axis=0) for name in ("first", "last")
    )
    delay = server.prompts.delay
    served = SimulationResult(requests, first + delay, last + delay, 0)
    return served.within(fleet.goal.targets)


def most(fleet: Fleet, spread: float, count: int, router: Router) -> float:
    """Returns the largest rate of all replicas at which the share is kept."""
    demand = Demand(PROMPT, OUTPUT, spread, spread)

    def keeps(rate: float) -> bool:
        return share(fleet, demand.arrivals(rate, count, seed=SEED), router) >= SHARE

    return largest(keeps, fleet.limit, 2 * fleet.limit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=20_000)
    options = parser.parse_args()
    draft = sp.SizedDraft(f"{CONFIGS}-eagle3.json", sp.Iid(0.7), "EAGLE-3")
    settings = sp.SizeSettings(
        rate=RATE, prompt_tokens=PROMPT, output_tokens=OUTPUT, targets=TARGETS_MS, gpus=["h100"],
        gpus_per_replica=[2], dtypes=["fp8"], engine="vllm", check=False,
    )  # fmt: skip
    sizing = sp.size(f"{CONFIGS}.json", draft, settings)
    fleet = sizing.best
    assert fleet is not None
    print(f"{fleet.replicas} replicas of TP {fleet.replica.tp}, K = {fleet.gamma}")
    for spread in SPREADS:
        rates = {name: most(fleet, spread, options.requests, way) for name, way in ROUTERS.items()}
        turns = rates["in turn"]
        shown = [
            f"{name} {rate:.1f} ({100 * (rate / turns - 1):+.1f} %)" for name, rate in rates.items()
        ]
        print(f"spread of lengths {spread:g}: {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
