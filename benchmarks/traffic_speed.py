"""How long the simulation of many requests takes, and how much memory.

    OMP_NUM_THREADS=1 python benchmarks/traffic_speed.py --requests 1000000
"""

import argparse
import resource
import time

import numpy as np

from simulator.acceptance.iid import Iid
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand
from simulator.traffic.events import serve
from simulator.traffic.policy import Policy
from simulator.traffic.server import Prompts, Server
from simulator.traffic.steady import most_rate

GAMMA, SLOTS, SHARE = 3, 64, 0.8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=100_000, help="How many.")
    given = parser.parse_args()
    gammas, batches = np.arange(GAMMA + 1), np.arange(1, SLOTS + 1)[:, None]
    seconds = 0.01 + 5e-4 * batches * (gammas + 1) + 1e-3 * gammas
    server = Server(seconds, Blocks.of(Iid(0.7), GAMMA), Prompts({1: 0.02, 10_000: 0.02}))
    demand = Demand(1000, 300)
    requests = demand.arrivals(
        SHARE * most_rate(server, demand, GAMMA), given.requests, seed=0
    )
    clock, processor = time.perf_counter(), time.process_time()
    served = serve(server, requests, Policy.fixed(server, GAMMA), seed=0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{given.requests} requests: {time.process_time() - processor:.1f} s of one core, "
        f"{time.perf_counter() - clock:.1f} s by the clock, {memory:.0f} MB at most; "
        f"{1e3 * served.token_seconds.mean():.2f} ms a token"
    )


if __name__ == "__main__":
    main()
