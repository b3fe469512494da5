"""Compares the share of requests within targets, predicted by `size`, with two live replicas.

    python benchmarks/sizing_live.py -o benchmarks/sizing_live.json
    python benchmarks/sizing_live.py --quick -o live.json

Two equal servers of the embedded pair (llama.cpp) are the replicas. Poisson arrivals go to them in
turn, at three shares of the predicted capacity. A machine with other work changes its speed within
seconds, so three servers take turns of a second: the two replicas, and a third one whose steps are
timed (`traffic_live.py`). A stopped server's clock does not advance, so each has the machine for
itself. At each rate, the times of the third server's steps give three predictions of shares: in
closed form, by simulations of Poisson arrivals, as `size` has them, and by simulations of the very
arrivals that the replicas got. The last one shows the model's error; the difference between the two
simulations is the luck of so few requests. Targets are those that 50, 80 and 95 % of the requests
keep in simulations of Poisson arrivals. A file that exists is continued, a rate at each call with
--one.
"""

import argparse
import json
import threading
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from live_shares import DEMAND, OUTPUT, PROMPT, REPLICAS, SHARES, SLOTS, rows_of, server_of
from result_file import setup, write_result
from traffic_client import Answer, Client
from traffic_prices import Pricing

from engines.engine import Setting
from engines.kind import EngineSettings, Models, engine_kinds
from estimator.loading.folders import folder_pair
from estimator.settings import PromptSettings
from estimator.timing.machine import machine
from simulator.numerics.arguments import Floats
from simulator.traffic.population import max_rate

WINDOW, STAIR = 1.0, 1.0
STAIRS = [1, 2, 4, 8]
RATES = (0.35, 0.55, 0.75)


def in_turns(
    replicas: list[Client], pricer: Client, starts: Floats, pricing: Pricing
) -> list[list[Answer]]:
    """Returns the answers of each replica to requests sent in turn; a third server is priced."""
    ended = [threading.Event() for _ in replicas]
    answers: list[list[Answer]] = [[] for _ in replicas]

    def send(number: int) -> None:
        answers[number] += replicas[number].arriving(starts[number::REPLICAS])
        ended[number].set()

    threads = [threading.Thread(target=send, args=[number]) for number in range(REPLICAS)]
    done = threading.Event()
    threads.append(threading.Thread(target=pricing.run, args=[pricer, STAIR, done.is_set]))
    clocks = [one.clock for one in (*replicas, pricer)]
    for thread in threads:
        thread.start()
    for clock in clocks:
        clock.stop()
    while not all(event.is_set() for event in ended):
        for clock in clocks:
            clock.go_on()
            time.sleep(WINDOW)
            clock.stop()
    done.set()
    for clock in clocks:
        clock.go_on()
    for thread in threads:
        thread.join()
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--gamma", type=int, default=2, help="drafted tokens a block; 0: none")
    parser.add_argument("--seconds", type=float, default=50, help="of arrivals at each rate")
    parser.add_argument("--quick", action="store_true", help="16 seconds at each rate")
    parser.add_argument("--one", action="store_true", help="end after one rate")
    given = parser.parse_args()
    seconds = 16.0 if given.quick else given.seconds
    kind = engine_kinds()["llama.cpp"]
    assert kind.start is not None
    text = PromptSettings(num_prompts=96, prompt_tokens=PROMPT)
    with TemporaryDirectory() as name, ExitStack() as stack:
        models = folder_pair(None, (), text, Path(name))
        positions = PROMPT + OUTPUT + given.gamma + 8
        engine = kind.start(
            Models(models.target, models.draft, Path(name), positions),
            EngineSettings("llama.cpp", None, threads=1),
        )
        prompts = [list(ids) for ids in models.prompts]
        *replicas, pricer = (
            Client(
                stack.enter_context(engine.serve(Setting(given.gamma, concurrency=SLOTS))),
                given.gamma, prompts, OUTPUT,
            )
            for _ in range(REPLICAS + 1)
        )  # fmt: skip
        known = json.loads(given.output.read_text()) if given.output.exists() else {}
        rows, most = known.get("rows", []), known.get("capacity")
        if most is None:
            pricing, end = Pricing(STAIRS), pricer.clock.now() + 4 * len(STAIRS) * STAIR
            pricing.run(pricer, STAIR, lambda: pricer.clock.now() >= end)
            first = server_of(pricing, given.gamma, 0.1)
            most = REPLICAS * float(max_rate(first, DEMAND, given.gamma))
        done = len(rows) // len(SHARES)
        left = list(enumerate(RATES))[done : done + 1 if given.one else None]
        for number, part in left:
            rate = part * most
            generator = np.random.default_rng(number)
            starts = np.cumsum(generator.exponential(1 / rate, round(rate * seconds)))
            pricing = Pricing(STAIRS)
            answers = in_turns(replicas, pricer, starts, pricing)
            compared = rows_of(answers, rate, given.gamma, pricing)
            rows += map(asdict, compared)
            for one in compared:
                print(
                    f"{one.rate:.2f} requests/s, targets {one.targets_ms[0]:.0f} and "
                    f"{one.targets_ms[1]:.2f} ms: measured {one.measured:.1%} ± {one.error:.1%} "
                    f"of {one.requests}, simulated of these arrivals {one.of_arrivals:.1%} ± "
                    f"{one.of_arrivals_error:.1%}, of others {one.simulated:.1%}, closed form "
                    f"{one.closed_form:.1%}; means {one.measured_ms}, {one.simulated_ms}",
                    flush=True,
                )
        version = replicas[0].server.version
    write_result(
        given.output,
        {
            **setup("xllamacpp"),
            "machine": machine(),
            "engine": f"llama.cpp {version}",
            "gamma": given.gamma,
            "capacity": most,
            "rows": rows,
        },
    )


if __name__ == "__main__":
    main()
