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
from dataclasses import asdict, dataclass, replace
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from result_file import setup, write_result
from traffic_client import Answer, Client
from traffic_prices import Pricing, priced, steps_of

from engines.engine import Setting
from engines.kind import EngineSettings, Models, engine_kinds
from estimator.loading.folders import folder_pair
from estimator.settings import PromptSettings
from simulator.acceptance.acceptance import Iid
from simulator.acceptance.tokens import alpha_from_block_efficiency
from simulator.numerics.arguments import Floats
from simulator.traffic.blocks import Blocks
from simulator.traffic.demand import Demand, LatencyTargets, Requests, SimulationResult
from simulator.traffic.events import serve
from simulator.traffic.limit import in_turn
from simulator.traffic.server import Server
from simulator.traffic.steady import max_rate, steady

REPLICAS, SLOTS, PROMPT, OUTPUT, WINDOW, STAIR = 2, 8, 64, 48, 1.0, 1.0
STAIRS = [1, 2, 4, 8]
SHARES, RATES, SEEDS = (0.5, 0.8, 0.95), (0.35, 0.55, 0.75), 10
# Requests whose steps are drawn; seconds of a prompt of no length.
DRAWN, TINY = 4000, 1e-5
DEMAND = in_turn(Demand(PROMPT, OUTPUT), REPLICAS)


@dataclass(frozen=True)
class Row:
    """One rate and its targets; shares are of the requests within both targets.

    targets_ms: most milliseconds to the first token, and between tokens.
    rate: requests per second of both replicas. error: the measured share's standard error.
    of_arrivals: share in simulations of the arrivals that the replicas got, and its standard
      deviation between simulations, which draw other accepted tokens.
    step_ms: milliseconds of a step of 1, …, 8 sequences.
    """

    rate: float
    targets_ms: tuple[float, float]
    requests: int
    measured: float
    error: float
    of_arrivals: float
    of_arrivals_error: float
    simulated: float
    closed_form: float
    step_ms: list[float]
    measured_ms: tuple[float, float]
    simulated_ms: tuple[float, float]


def server_of(pricing: Pricing, gamma: int, rate: float) -> Server:
    """Returns the server with the measured times; prompts are priced at the batch of this rate."""
    prices = priced(pricing, gamma)
    first = steady(prices.server(SLOTS, DEMAND, 1), DEMAND, gamma, rate / REPLICAS)
    batch = float(first.batch[0]) if np.isfinite(first.batch[0]) else SLOTS
    server = prices.server(SLOTS, DEMAND, batch)
    # A prompt by itself takes longer than it adds to a step, since its request and its first token
    # are sent; they are when steps are shared, too.
    sending, *others = server.prompts.seconds.values()
    lengths = list(server.prompts.seconds)
    reading = {lengths[0]: TINY} | {
        n: seconds - sending for n, seconds in zip(lengths[1:], others, strict=True)
    }
    server = replace(server, prompts=replace(server.prompts, seconds=reading, delay=sending))
    if gamma == 0:
        return server
    alpha, spread = acceptance_of(pricing, gamma, prices.length)
    return replace(server, blocks=Blocks.of(Iid(alpha), gamma, spread=spread))


def acceptance_of(pricing: Pricing, gamma: int, length: float) -> tuple[float, float]:
    """Returns α, and its standard deviation between requests.

    The numbers of steps of requests vary by chance as they would with one α, and by the requests'
    own. length: mean tokens of a step.
    """
    alpha = float(alpha_from_block_efficiency(length, gamma))
    whole = [answer for answer in pricing.answers if len(answer.tokens) == OUTPUT]
    counted = np.array([len(steps_of(answer)) - 1 for answer in whole])
    generator = np.random.default_rng(0)
    accepted = (generator.random((DRAWN, OUTPUT, gamma)) < alpha).cumprod(axis=-1).sum(axis=-1)
    drawn = 1 + ((1 + accepted).cumsum(axis=1) < OUTPUT - 1).sum(axis=1)

    def variance(steps: NDArray[np.int64]) -> float:
        lengths = np.clip((OUTPUT - 1) / steps, 1.0, gamma + 1.0)
        return float(np.var(alpha_from_block_efficiency(lengths, gamma)))

    own = sqrt(max(variance(counted) - variance(drawn), 0.0))
    return alpha, min(own, 0.9 * sqrt(alpha * (1 - alpha)))


def targets_of(runs: list[SimulationResult], share: float) -> LatencyTargets:
    """Returns targets that a share of the requests keep, each of both as often as the other."""
    firsts, tokens = (
        np.concatenate([getattr(run, name) for run in runs])
        for name in ("first_seconds", "token_seconds")
    )

    def targets(part: float) -> LatencyTargets:
        return LatencyTargets(float(np.quantile(firsts, part)), float(np.quantile(tokens, part)))

    parts = np.linspace(share, 1, 400)
    shares = [float(targets(part).met(firsts, tokens).mean()) for part in parts.tolist()]
    return targets(float(parts[int(np.argmin(np.abs(np.array(shares) - share)))]))


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


def arrived(answers: list[list[Answer]]) -> list[Requests]:
    """Returns the requests that each replica got, when they were sent."""
    sent = [np.sort([answer.sent for answer in own]) for own in answers]
    return [
        Requests(each - each[0], *(np.full(len(each), tokens) for tokens in (PROMPT, OUTPUT)))
        for each in sent
    ]


def rows_of(answers: list[list[Answer]], rate: float, gamma: int, pricing: Pricing) -> list[Row]:
    """Returns the measured and the predicted shares at one rate, for each of the targets."""
    server = server_of(pricing, gamma, rate)
    # As in simulations, the first tenth finds an emptier server.
    counted = [one for of_one in answers for one in of_one[len(of_one) // 10 :]]
    firsts = np.array([one.first for one in counted])
    tokens = np.array([one.token for one in counted])
    runs = [
        serve(server, DEMAND.arrivals(rate / REPLICAS, 5000, seed=seed), gamma, seed=seed)
        for seed in range(SEEDS)
    ]
    same = [
        [serve(server, each, gamma, seed=seed) for each in arrived(answers)]
        for seed in range(SEEDS)
    ]
    state = steady(server, DEMAND, gamma, rate / REPLICAS)
    means = [
        (1e3 * float(firsts.mean()), 1e3 * float(tokens.mean())),
        (
            1e3 * float(np.mean([run.first_seconds.mean() for run in runs])),
            1e3 * float(np.mean([run.token_seconds.mean() for run in runs])),
        ),
    ]
    rows = []
    for part in SHARES:
        targets = targets_of(runs, part)
        share = float(targets.met(firsts, tokens).mean())
        of_each = [_within(replicas, targets) for replicas in same]
        rows.append(
            Row(
                rate,
                (1e3 * (targets.first_seconds or 0), 1e3 * (targets.token_seconds or 0)),
                len(counted),
                share,
                sqrt(max(share * (1 - share), 1 / len(counted)) / len(counted)),
                float(np.mean(of_each)),
                float(np.std(of_each, ddof=1)),
                float(np.mean([run.within(targets) for run in runs])),
                float(state.share(targets)[0]),
                [1e3 * float(seconds) for seconds in server.seconds[:, gamma]],
                means[0],
                means[1],
            )
        )
    return rows


def _within(replicas: list[SimulationResult], targets: LatencyTargets) -> float:
    """Returns the share within targets of the requests at all replicas."""
    met = [targets.met(one.first_seconds, one.token_seconds) for one in replicas]
    return float(np.concatenate(met).mean())


def machine() -> str:
    """Returns the number of cores and the processor's name."""
    text = Path("/proc/cpuinfo").read_text()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return f"{len(names)} cores, {names[0]}"


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
