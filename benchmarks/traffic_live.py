"""A live server under Poisson arrivals: what was predicted of it, and what it did.

    python benchmarks/traffic_live.py -o live.json                            # llama.cpp
    python benchmarks/traffic_live.py --engine vllm --gamma 4 -o live.json \
        --engine-command "python -m vllm.entrypoints.openai.api_server --dtype float32 \
        --enforce-eager --max-model-len 512 --max-num-seqs 8 --no-enable-prefix-caching"

The embedded pair is served twice at once, with speculation and without; only one serves at a time.
In turns with the arrivals each server is priced: some clients (--batches) ask again as soon as they
are answered, and from the times of their tokens follow the times of steps by batch and of prompts.
What is predicted of a rate rests on the turns right before and after it, so that the machine's
changing speed meets both alike: the steady state in closed form, and the simulation of the very
arrivals. Rates are shares of the most requests a second that the lesser of both servers is at first
predicted to bear; what it bears is measured with twice as many clients as it has slots. How much
slower the machine was at a rate than when it was priced is told, too, by the steps themselves. A
run that ends early (--stop-after) is taken up by the next with the same output.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
from traffic_client import Client
from traffic_prices import Turn, turn
from traffic_trial import Arm, Segment, Trial

from engines.engine import Engine, Setting
from engines.kind import EngineSettings, Models
from engines.registry import engine_kinds
from engines.servers.llama_cpp import LlamaCpp
from engines.servers.running import RunningPair
from estimator.loading.folders import folder_pair
from estimator.settings import PromptSettings
from estimator.writing import write_whole

PROMPTS = 96


def options() -> argparse.Namespace:
    """Returns what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", default="llama.cpp", help="llama.cpp or vllm.")
    parser.add_argument("--engine-command", help="What starts it, as in specplan validate.")
    parser.add_argument("--server", help="URL of one that runs, with speculation.")
    parser.add_argument("--target-url", help="URL of one that runs, without.")
    parser.add_argument("--rates", default="0.1,0.35,0.6,0.8", help="Shares of the most.")
    parser.add_argument("--seconds", type=float, default=30.0, help="Of arrivals at a rate.")
    parser.add_argument("--gamma", type=int, default=2, help="Drafted tokens a block.")
    parser.add_argument("--slots", type=int, default=8, help="Sequences together at most.")
    parser.add_argument("--batches", default="1,2,4,8", help="That are priced.")
    parser.add_argument("--prompt-tokens", type=int, default=64, help="Of a request.")
    parser.add_argument("--output-tokens", type=int, default=96, help="Likewise.")
    parser.add_argument("--saturated", type=float, default=15.0, help="Seconds of full slots.")
    parser.add_argument("--turn", type=float, default=2.0, help="Seconds of each batch priced.")
    parser.add_argument("--seed", type=int, default=0, help="Of the arrivals.")
    parser.add_argument("--stop-after", type=float, default=1e9, help="Begin no rate after these.")
    parser.add_argument("-o", "--output", type=Path, required=True, help="What was found.")
    return parser.parse_args()


@contextmanager
def served(given: argparse.Namespace) -> Iterator[tuple[str, dict[int, tuple[Client, Client]]]]:
    """Serves the pair by γ: a client for pricing and one for arrivals; with the version."""
    kind = engine_kinds()[given.engine]
    assert kind.start is not None
    assert kind.connect is not None
    text = PromptSettings(num_prompts=PROMPTS // 2, prompt_tokens=given.prompt_tokens)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        pair = folder_pair(None, (), text, Path(name))
        positions = given.prompt_tokens + given.output_tokens + given.gamma + 8
        models = Models(pair.target, pair.draft, Path(name), positions)
        engine: Engine = kind.start(
            models, EngineSettings(given.engine, given.engine_command, threads=1)
        )
        if isinstance(engine, LlamaCpp):
            engine = replace(engine, unified=True)
        if given.target_url is not None:
            engine = RunningPair(kind.connect, given.target_url, server=given.server)
        clients, version = {}, ""
        for gamma in (0, given.gamma):
            server = stack.enter_context(engine.serve(Setting(gamma, concurrency=given.slots)))
            version = server.version
            pricing, arriving = (
                Client(server, gamma, [list(ids) for ids in pair.prompts], given.output_tokens)
                for _ in range(2)
            )
            pricing.in_turn(given.slots, 1.0)
            clients[gamma] = pricing, arriving
        yield version, clients


def measure(given: argparse.Namespace, trial: Trial, save: Path) -> None:
    """Adds to a trial the segments that it lacks."""
    begin = time.monotonic()
    done = [segment.share for segment in trial.segments]
    batches = list(map(int, given.batches.split(",")))
    shares = [*map(float, given.rates.split(",")), 0.0]
    left = [(number, share) for number, share in enumerate(shares) if share not in done]
    if not left:
        return
    with served(given) as (version, clients):
        trial.engine = f"{given.engine} {version}"

        def turns() -> dict[int, Turn]:
            return {gamma: turn(each[0], batches, given.turn) for gamma, each in clients.items()}

        before = turns()
        if trial.most == 0:
            trial.most = min(
                trial.predicted_most(Arm(gamma, [each], [], [])) for gamma, each in before.items()
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
            found = {
                gamma: arriving.arriving(starts)
                if share > 0
                else arriving.in_turn(2 * given.slots, given.saturated)
                for gamma, (_, arriving) in clients.items()
            }
            after = turns()
            arms = [
                Arm(gamma, [before[gamma], after[gamma]], starts.tolist(), found[gamma])
                for gamma in clients
            ]
            trial.segments.append(Segment(share, arms))
            write_whole(save, msgspec.json.encode(trial))
            before = after


def report(trial: Trial) -> None:
    """Prints what was measured and predicted."""
    print(trial.engine)
    names = ("simulated", "closed form", "simulated at its pace", "closed form at its pace")
    errors: dict[str, list[float]] = {name: [] for name in names}
    for segment in trial.segments:
        for arm in segment.arms:
            prices = arm.prices
            steps = ", ".join(f"{b}: {1e3 * s:.2f}" for b, s in prices.by_batch.items())
            print(
                f"gamma {arm.gamma}: step ms by batch {steps}; {prices.length:.2f} tokens a step; "
                f"prompt ms {1e3 * prices.prompt:.1f}, beside others "
                f"{1e3 * prices.prompt_added:.1f}"
            )
            if segment.share == 0:
                predicted, measured = trial.predicted_most(arm), arm.borne
                print(
                    f"    bears {measured:.2f} requests/s, predicted {predicted:.2f} "
                    f"({100 * (predicted / measured - 1):+.1f} %)"
                )
                continue
            row, pace = trial.row(arm), prices.pace(arm.answers, trial.slots)
            paced = trial.row(arm, pace).token_ms
            token, first, rates = row.token_ms, row.first_ms, row.tokens_per_second
            for name, value in zip(errors, (*token[1:], *paced[1:]), strict=True):
                errors[name].append(100 * abs(value / token[0] - 1))
            print(
                f"    {arm.rate:.2f}/s, {len(arm.starts)} times: ms/token {_three(token)}; "
                f"TTFT ms {_three(first)}; tokens/s {rates[0]:.0f}, simulated {rates[1]:.0f}; "
                f"steps took {pace:.2f} of their price, with which ms/token {_three(paced)}"
            )
    for name, values in errors.items():
        print(f"ms/token, {name}: {np.mean(values):.1f} % off on average of {len(values)}")


def _three(values: tuple[float, float, float]) -> str:
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
