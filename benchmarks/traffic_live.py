"""Compares predictions for a server under Poisson arrivals with a live server.

    python benchmarks/traffic_live.py -o live.json                            # llama.cpp
    python benchmarks/traffic_live.py --engine vllm --gamma 4 -o live.json \
        --engine-command "python -m vllm.entrypoints.openai.api_server --dtype float32 \
        --enforce-eager --max-model-len 512 --max-num-seqs 8 --no-enable-prefix-caching"

A shared machine changes its speed within seconds, so requests and pricing take turns: every half
second the server of the arrivals is stopped (SIGSTOP) and a second, equal server continues, and the
other way round. The second server is priced: its clients send a new request after each answer, and
their number (--batches) goes up and down. Each server has a clock that does not advance while it is
stopped. The times of tokens give the times of steps by batch and of prompts. These give the steady
state in closed form and the simulation of the real arrivals. Servers with and without speculation
take turns, too. Rates are shares of the capacity that is first predicted for the slower of both.
The capacity is measured with twice as many clients as slots. The next run with the same output
continues a run that ended early (--stop-after).
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from traffic_client import Client
from traffic_prices import Pricing
from traffic_trial import Arm, Segment, Trial

from engines.engine import Engine, Setting
from engines.kind import EngineSettings, Models, engine_kinds
from estimator.loading.folders import folder_pair
from estimator.settings import PromptSettings
from estimator.writing import write_whole

PROMPTS = 96


def options() -> argparse.Namespace:
    """Returns the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", default="llama.cpp", help="llama.cpp or vllm.")
    parser.add_argument("--engine-command", help="Command of the server, as in specplan validate.")
    parser.add_argument(
        "--rates", default="0.1,0.3,0.5,0.7", help="Rates as shares of the capacity."
    )
    parser.add_argument("--seconds", type=float, default=24.0, help="Seconds of arrivals per rate.")
    parser.add_argument("--gamma", type=int, default=2, help="Drafted tokens a block.")
    parser.add_argument("--slots", type=int, default=8, help="Largest number of sequences at once.")
    parser.add_argument("--batches", default="1,2,3,4,5,6,8", help="Batch sizes to price.")
    parser.add_argument("--prompt-tokens", type=int, default=64, help="Prompt tokens per request.")
    parser.add_argument("--output-tokens", type=int, default=64, help="Output tokens per request.")
    parser.add_argument("--saturated", type=float, default=24.0, help="Seconds of full slots.")
    parser.add_argument("--window", type=float, default=0.5, help="Seconds per turn.")
    parser.add_argument("--stair", type=float, default=2.0, help="Seconds per priced batch size.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the arrivals.")
    parser.add_argument(
        "--stop-after", type=float, default=1e9, help="Seconds after which no rate begins."
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="File of the results.")
    given = parser.parse_args()
    cycle = given.stair * len(given.batches.split(","))
    if cycle > min(given.seconds, given.saturated):
        parser.error(f"seconds and saturated must be at least {cycle:g}, to price every batch")
    return given


@dataclass(frozen=True)
class Pair:
    """Two servers of one γ: one that requests arrive at, and one that is priced meanwhile."""

    arriving: Client
    pricing: Client


@contextmanager
def served(given: argparse.Namespace) -> Iterator[tuple[str, dict[int, Pair]]]:
    """Serves the embedded models, two servers for each γ; with the engine's version."""
    kind = engine_kinds()[given.engine]
    assert kind.start is not None
    text = PromptSettings(num_prompts=PROMPTS, prompt_tokens=given.prompt_tokens)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        models = folder_pair(None, (), text, Path(name))
        positions = given.prompt_tokens + given.output_tokens + given.gamma + 8
        engine: Engine = kind.start(
            Models(models.target, models.draft, Path(name), positions),
            EngineSettings(given.engine, given.engine_command, threads=1),
        )

        def client(gamma: int) -> Client:
            server = stack.enter_context(engine.serve(Setting(gamma, concurrency=given.slots)))
            prompts = [list(ids) for ids in models.prompts]
            return Client(server, gamma, prompts, given.output_tokens)

        pairs = {gamma: Pair(client(gamma), client(gamma)) for gamma in (0, given.gamma)}
        yield pairs[0].arriving.server.version, pairs


def measure(given: argparse.Namespace, trial: Trial, save: Path) -> None:
    """Adds to a trial the segments that it lacks."""
    begin = time.monotonic()
    done = [segment.share for segment in trial.segments]
    stairs = list(map(int, given.batches.split(",")))
    shares = [*map(float, given.rates.split(",")), 0.0]
    left = [(number, share) for number, share in enumerate(shares) if share not in done]
    if not left:
        return
    with served(given) as (version, pairs):
        trial.engine = f"{given.engine} {version}"
        if trial.most == 0:
            trial.most = min(
                alone(pair.pricing, trial, stairs, given.stair) for pair in pairs.values()
            )
        for number, share in left:
            if time.monotonic() - begin > given.stop_after:
                break
            starts = np.zeros(0)
            if share > 0:
                rate = share * trial.most
                count = max(6, round(rate * given.seconds))
                starts = np.cumsum(
                    np.random.default_rng(given.seed + number).exponential(1 / rate, count)
                )
            arms = [Arm(gamma, Pricing(stairs), starts.tolist(), []) for gamma in pairs]
            in_turns(given, pairs, arms, trial.clients)
            trial.segments.append(Segment(share, arms))
            write_whole(save, msgspec.json.encode(trial))


def alone(client: Client, trial: Trial, stairs: list[int], seconds: float) -> float:
    """Returns the most requests a second of a server, priced with nothing else under way."""
    pricing, end = Pricing(stairs), client.clock.now() + len(stairs) * seconds
    pricing.run(client, seconds, lambda: client.clock.now() >= end)
    return trial.predicted_most(Arm(client.gamma, pricing, [], []))


def in_turns(
    given: argparse.Namespace, pairs: dict[int, Pair], arms: list[Arm], clients: int
) -> None:
    """Sends each arm its requests, in turns with the requests of pricing."""
    ended = {arm.gamma: threading.Event() for arm in arms}

    def send(arm: Arm) -> None:
        client = pairs[arm.gamma].arriving
        if arm.starts:
            arm.answers += client.arriving(np.array(arm.starts))
        else:
            end = client.clock.now() + given.saturated
            arm.answers += client.in_stairs([clients], 1.0, lambda: client.clock.now() >= end)
        ended[arm.gamma].set()

    def price(arm: Arm) -> None:
        arm.pricing.run(pairs[arm.gamma].pricing, given.stair, ended[arm.gamma].is_set)

    clocks = {gamma: (pair.arriving.clock, pair.pricing.clock) for gamma, pair in pairs.items()}
    threads = [threading.Thread(target=work, args=[arm]) for arm in arms for work in (price, send)]
    for thread in threads:
        thread.start()
    for gamma in pairs:
        for clock in clocks[gamma]:
            clock.stop()
    while not all(event.is_set() for event in ended.values()):
        for gamma, event in ended.items():
            for clock in clocks[gamma]:
                clock.go_on()
                event.wait(given.window)
                clock.stop()
    for gamma in pairs:
        for clock in clocks[gamma]:
            clock.go_on()
    for thread in threads:
        thread.join()


def report(trial: Trial) -> None:
    """Prints what was measured and predicted."""
    print(trial.engine)
    errors: dict[str, list[float]] = {name: [] for name in ("simulated", "closed form")}
    for segment in trial.segments:
        tokens = []
        for arm in segment.arms:
            prices = arm.prices
            steps = ", ".join(f"{b}: {1e3 * s:.2f}" for b, s in prices.by_batch.items())
            few, many = prices.prompt_added
            print(
                f"gamma {arm.gamma}: step ms by batch {steps}; {prices.length:.2f} tokens a step; "
                f"prompt ms {1e3 * prices.prompt:.1f}, next to one {1e3 * few:.1f} and many "
                f"{1e3 * many:.1f}"
            )
            if segment.share == 0:
                predicted, measured = trial.predicted_most(arm), trial.capacity(arm)
                print(
                    f"    capacity {measured:.2f} requests/s, predicted {predicted:.2f} "
                    f"({100 * (predicted / measured - 1):+.1f} %)"
                )
                continue
            row = trial.row(arm)
            token, first, rates = row.token_ms, row.first_ms, row.tokens_per_second
            tokens.append(token)
            for name, value in zip(errors, token[1:], strict=True):
                errors[name].append(100 * abs(value / token[0] - 1))
            print(
                f"    {arm.rate:.2f}/s, {len(arm.starts)} times: ms/token {_three(token)}; "
                f"TTFT ms {_three(first)}; tokens/s {rates[0]:.0f}, simulated {rates[1]:.0f}"
            )
        if tokens:
            gains = [without / with_it for without, with_it in zip(*tokens, strict=True)]
            print(f"speculation makes tokens come faster by {_three(gains)}")
    for name, values in errors.items():
        print(f"ms/token, {name}: {np.mean(values):.1f} % off on average of {len(values)}")


def _three(values: Sequence[float]) -> str:
    return "{:.2f}, simulated {:.2f}, closed form {:.2f}".format(*values)


def main() -> None:
    given = options()
    trial = Trial("", given.slots, given.prompt_tokens, given.output_tokens)
    if given.output.exists():
        trial = msgspec.json.decode(given.output.read_bytes(), type=Trial)
    measure(given, trial, given.output)
    report(trial)


if __name__ == "__main__":
    main()
