"""llama.cpp's server under Poisson arrivals: what was predicted of it, and what it did.

    python benchmarks/traffic_live.py --rates 0.1,0.4,0.6,0.9 --seconds 17 -o live.json

The embedded pair is served twice at once, with speculation and without, by one thread each, all
slots sharing one cache: with one cache each, llama.cpp decodes requests whose slots are not next to
each other as slowly as if each had a pass of its own (--own-caches).

Each server is priced at several batch sizes: so many requests together, from the moment when all
have their first token to the moment when one has its last. That is done before and after each rate,
in turns with the arrivals, so that the machine's changing speed meets both alike. Predicted are the
steady state in closed form, and the simulation of the very arrivals. Rates are shares of the most
requests a second that the server without speculation is at first predicted to bear; what it bears
is measured with twice as many requests at a time as it has slots.
"""

import argparse
import json
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from traffic_client import Answer, Client
from traffic_prices import Turn, priced, turn

from engines.engine import Setting
from engines.kind import Models
from engines.servers.llama_cpp import LlamaCpp
from engines.settings import EngineSettings
from estimator.prompts import embedded_prompts
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_tokenizer
from simulator.traffic.demand import Demand, Requests
from simulator.traffic.events import serve
from simulator.traffic.policy import Policy
from simulator.traffic.server import Server
from simulator.traffic.steady import most_rate, steady

PROMPTS = 48


@dataclass(frozen=True)
class Row:
    """A rate at one server: what was predicted and measured, times in milliseconds."""

    rate: float
    speculation: bool
    tpot_ms: float
    tpot_ms_closed_form: float
    tpot_ms_simulated: float
    ttft_ms: float
    ttft_ms_closed_form: float
    ttft_ms_simulated: float
    requests: int
    tokens_per_second: float
    tokens_per_second_simulated: float


def arrivals(rate: float, seconds: float, seed: int) -> NDArray[np.float64]:
    """Returns Poisson arrivals within so many seconds, at least three."""
    gaps = np.random.default_rng(seed).exponential(1 / rate, max(3, round(rate * seconds)))
    return np.cumsum(gaps)


def row_of(
    answers: list[Answer],
    server: Server,
    demand: Demand,
    rate: float,
    starts: NDArray[np.float64],
) -> Row:
    """Returns what was measured and predicted of one server at one rate."""
    gamma = server.longest
    counts = np.full(len(starts), round(demand.prompt_tokens))
    same = Requests(starts, counts, np.full(len(starts), round(demand.output_tokens)))
    simulated = serve(server, same, Policy.fixed(server, gamma), seed=0)
    state = steady(server, demand, gamma, rate)
    warm = len(answers) - len(simulated.first_seconds)
    span = max(each.tokens[-1] for each in answers) - min(each.sent for each in answers)
    return Row(
        rate=rate,
        speculation=gamma > 0,
        tpot_ms=1e3 * float(np.mean([each.token for each in answers[warm:]])),
        tpot_ms_closed_form=1e3 * float(state.token_seconds[0]),
        tpot_ms_simulated=1e3 * float(simulated.token_seconds.mean()),
        ttft_ms=1e3 * float(np.mean([each.first for each in answers[warm:]])),
        ttft_ms_closed_form=1e3 * float(state.first_seconds[0]),
        ttft_ms_simulated=1e3 * float(simulated.first_seconds.mean()),
        requests=len(answers),
        tokens_per_second=len(answers) * demand.output_tokens / span,
        tokens_per_second_simulated=simulated.tokens_per_second,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rates", default="0.1,0.4,0.6,0.9", help="Shares of the most.")
    parser.add_argument("--seconds", type=float, default=25.0, help="Of arrivals at a rate.")
    parser.add_argument("--gamma", type=int, default=2, help="Drafted tokens a block.")
    parser.add_argument("--slots", type=int, default=8, help="Sequences together at most.")
    parser.add_argument("--prompt-tokens", type=int, default=64, help="Of a request.")
    parser.add_argument("--output-tokens", type=int, default=96, help="Likewise.")
    parser.add_argument("--own-caches", action="store_true", help="A cache for each slot.")
    parser.add_argument("--saturated", type=float, default=14.0, help="Seconds of full slots.")
    parser.add_argument("--repeats", type=int, default=1, help="Of what is priced, each time.")
    parser.add_argument("--seed", type=int, default=0, help="Of the arrivals.")
    parser.add_argument("-o", "--output", type=Path, help="Write what was found here, as JSON.")
    given = parser.parse_args()
    target, draft = (str(weights_folder(role)) for role in ("target", "draft"))
    prompts = [
        list(ids)
        for ids in embedded_prompts(
            load_tokenizer(target), count=PROMPTS, prompt_tokens=given.prompt_tokens
        )
    ]
    demand = Demand(given.prompt_tokens, given.output_tokens)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        positions = given.prompt_tokens + given.output_tokens + given.gamma + 8
        models = Models(target, draft, Path(folder), positions)
        settings = EngineSettings("llama.cpp", threads=1)
        engine = replace(LlamaCpp.of_folders(models, settings), unified=not given.own_caches)
        clients = {
            gamma: Client(
                stack.enter_context(engine.serve(Setting(gamma, concurrency=given.slots))),
                prompts,
                given.output_tokens,
            )
            for gamma in (0, given.gamma)
        }
        batches = [2**i for i in range(given.slots.bit_length())]
        for client in clients.values():
            client.together(np.zeros(given.slots))
        turns: list[dict[int, list[Turn]]] = []

        def take_turns() -> None:
            taken: dict[int, list[Turn]] = {gamma: [] for gamma in clients}
            for _ in range(given.repeats):
                for gamma, client in clients.items():
                    taken[gamma].append(turn(client, batches))
            turns.append(taken)

        def server(gamma: int, first: int, last: int) -> Server:
            among = [each for taken in turns[first : last + 1] for each in taken[gamma]]
            return priced(among).server(given.slots, demand)

        take_turns()
        base = most_rate(server(0, 0, 0), demand, 0)
        found = []
        for number, share in enumerate(map(float, given.rates.split(","))):
            starts = arrivals(share * base, given.seconds, given.seed + number)
            answers = {gamma: client.together(starts) for gamma, client in clients.items()}
            found.append((share * base, starts, answers))
            take_turns()
        bears = {
            gamma: client.saturated(2 * given.slots, given.saturated)
            for gamma, client in clients.items()
        }
        take_turns()
    prices = {
        gamma: priced([each for taken in turns for each in taken[gamma]]) for gamma in clients
    }
    for gamma, each in prices.items():
        steps = ", ".join(f"{b}: {1e3 * s:.2f}" for b, s in each.by_batch.items())
        print(
            f"gamma {gamma}: step ms by batch {steps}; {each.length:.2f} tokens a step; prompt "
            f"{1e3 * each.prompt:.1f} ms, of several {1e3 * each.prompt_added:.1f}"
        )
    rows = [
        row_of(answers[gamma], server(gamma, number, number + 1), demand, rate, starts)
        for number, (rate, starts, answers) in enumerate(found)
        for gamma in clients
    ]
    for row in rows:
        print(_shown(row))
    last = {gamma: server(gamma, len(turns) - 2, len(turns) - 1) for gamma in clients}
    most = {gamma: most_rate(each, demand, each.longest) for gamma, each in last.items()}
    for gamma, rate in bears.items():
        error = f"{100 * (most[gamma] / rate - 1):+.1f} %"
        print(f"gamma {gamma}: bears {rate:.2f} requests/s, predicted {most[gamma]:.2f}, {error}")
    errors = {
        name: [100 * abs(getattr(row, f"tpot_ms_{name}") / row.tpot_ms - 1) for row in rows]
        for name in ("closed_form", "simulated")
    }
    for name, found_errors in errors.items():
        finite = [error for error in found_errors if np.isfinite(error)]
        print(f"ms a token, {name}: {np.mean(finite):.1f} % off on average of {len(finite)}")
    if given.output is not None:
        written = {
            "engine": f"xllamacpp {version('xllamacpp')}",
            "priced": {str(gamma): asdict(each) for gamma, each in prices.items()},
            "rows": [asdict(row) for row in rows],
            "most": {
                str(gamma): {"predicted": most[gamma], "measured": bears[gamma]} for gamma in most
            },
        }
        given.output.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def _shown(row: Row) -> str:
    return (
        f"{row.rate:6.2f}/s {'with' if row.speculation else 'without':7} {row.requests:4} times  "
        f"ms/token {row.tpot_ms:6.2f} (closed form {row.tpot_ms_closed_form:6.2f}, simulated "
        f"{row.tpot_ms_simulated:6.2f})  TTFT {row.ttft_ms:6.1f} ({row.ttft_ms_closed_form:6.1f}, "
        f"{row.ttft_ms_simulated:6.1f})  tokens/s {row.tokens_per_second:6.1f} "
        f"({row.tokens_per_second_simulated:6.1f})"
    )


if __name__ == "__main__":
    main()
