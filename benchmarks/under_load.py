"""Measures errors of predictions on a busy machine: texts one after the other, and in turns.

    OMP_NUM_THREADS=1 python benchmarks/under_load.py --busy 2 --seeds 3

The embedded target and a draft decode texts by two methods. The first decodes each arm's text as a
whole, and each block counts with its fastest repeat. The second decodes all arms in turns, divides
out the speed of each round, and each block counts with its median (`estimator.timing`). The
prediction is the replay of each text at measured costs. "second / first" is the difference of the
measured speed-ups in per cent. This program starts the busy processes; they end after --limit
seconds, or when it is done.
"""

import argparse
import multiprocessing
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from embedded_pair import embedded_pair
from numpy.typing import NDArray

from estimator.timing.arms import Decoder, Speculative, probing, run_arms, without_draft
from estimator.timing.precision import Timing, precision_percent
from estimator.timing.rates import AGAIN, BASELINE, Runs, Timed, decode_rate, priced, timed
from estimator.traces.text_traces import TextTraces, replay_factor
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling, seeded
from reference.models.architectures import early_exit
from reference.policies import Fixed
from reference.records import Stopping
from reference.speculative import Subject

GAMMAS = (1, 2, 4, 8)
REPEATS = 3
IN_TURNS = "in turns, median"


def busy(seconds: float) -> None:
    """Computes for so long."""
    end = time.monotonic() + seconds
    values = np.random.default_rng(0).normal(size=(128, 128))
    while time.monotonic() < end:
        values = np.tanh(values @ values)


@contextmanager
def load(processes: int, *, limit: float) -> Iterator[None]:
    """Keeps processes busy while the context lasts, no longer than the limit in seconds."""
    spawning = multiprocessing.get_context("spawn")
    started = [spawning.Process(target=busy, args=(limit,), daemon=True) for _ in range(processes)]
    for process in started:
        process.start()
    try:
        yield
    finally:
        for process in started:
            process.terminate()
            process.join()


def one_after_the_other(
    subject: Subject, prompts: Sequence[Sequence[int]], arms: Mapping[str, Decoder], *, seed: int
) -> Timed:
    """Returns each arm's texts, whole ones in random order, each block by its fastest repeat."""
    decoders = {BASELINE: without_draft, AGAIN: without_draft, **arms}
    names = list(decoders)
    runs: Runs = {name: [[] for _ in prompts] for name in names}
    order = np.random.default_rng(seed)
    for _ in range(REPEATS):
        for place, prompt in enumerate(prompts):
            for number in order.permutation(len(names)).tolist():
                generator = seeded(subject.target.device, seed, place, number)
                text = decoders[names[number]](subject, prompt, generator).finished()
                runs[names[number]][place].append(text)
    return {
        name: [
            replace(
                texts[0],
                blocks=tuple(
                    min(blocks, key=lambda block: block.seconds)
                    for blocks in zip(*(text.blocks for text in texts), strict=True)
                ),
            )
            for texts in rows
        ]
        for name, rows in runs.items()
    }


def in_turns(
    subject: Subject, prompts: Sequence[Sequence[int]], arms: Mapping[str, Decoder], *, seed: int
) -> Timed:
    """Returns each arm's texts as a validation counts them."""
    return timed(run_arms(subject, prompts, arms, Timing(REPEATS, seed)))


def speed_ups(runs: Timed) -> NDArray[np.float64]:
    """Returns the measured speed-up at each of GAMMAS."""
    speed_ups = []
    for gamma in GAMMAS:
        texts = runs[f"gamma {gamma}"]
        tokens = np.array([len(text.tokens) for text in texts])
        seconds = sum(text.decode_seconds for text in texts)
        speed_ups.append(float(decode_rate(runs[BASELINE]) @ tokens) / seconds)
    return np.array(speed_ups)


def errors(texts: TextTraces, runs: Timed) -> list[float]:
    """Returns by how many per cent the speed-up at each of GAMMAS is predicted too fast."""
    cost = priced(runs)
    predicted = [replay_factor(texts.of(runs[f"gamma {gamma}"]), gamma, cost) for gamma in GAMMAS]
    return (100 * (predicted / speed_ups(runs) - 1)).tolist()


def line(name: str, values: Iterable[float], after: str = "") -> str:
    """Returns a line of per cents by gamma."""
    return f"{name:36} {' '.join(f'{value:+6.1f}' for value in values)}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--busy", type=int, default=2, help="Busy processes.")
    parser.add_argument(
        "--layers",
        type=int,
        help="Draft with this many of the target's layers; default: the small model.",
    )
    parser.add_argument("--turns-only", action="store_true", help="Only in turns.")
    parser.add_argument("--seeds", type=int, default=3, help="Number of runs of both methods.")
    parser.add_argument("--first-seed", type=int, default=0, help="Seed of the first run.")
    parser.add_argument("--prompts", type=int, default=4, help="Number of prompts.")
    parser.add_argument("--tokens", type=int, default=32, help="Tokens of each text.")
    parser.add_argument(
        "--temperature", type=float, default=0.0, help="Temperature of both models."
    )
    parser.add_argument("--limit", type=float, default=1800.0, help="Seconds of load at most.")
    given = parser.parse_args()
    pair = embedded_pair(given.prompts)
    sampling = Sampling(given.temperature)
    draft = pair.draft if given.layers is None else early_exit(pair.target, given.layers)
    drafter = ModelDrafter(draft, sampling, pair.target.vocabulary)
    subject = Subject(pair.target, drafter, sampling, Stopping(given.tokens))
    arms = probing(GAMMAS) | {f"gamma {gamma}": Speculative(Fixed(gamma)) for gamma in GAMMAS}
    ways = {"one after the other, fastest": one_after_the_other, IN_TURNS: in_turns}
    if given.turns_only:
        ways = {IN_TURNS: in_turns}
    ratios = []
    of_way: dict[str, list[list[float]]] = {name: [] for name in ways}
    print(
        f"{given.busy} busy processes, {torch.get_num_threads()} threads, draft {drafter.name}; "
        "per cent off by gamma"
    )
    with load(given.busy, limit=given.limit):
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            texts = TextTraces(subject, pair.prompts, max(GAMMAS))
            measured = []
            for name, way in ways.items():
                began = time.monotonic()
                runs = way(subject, pair.prompts, arms, seed=seed)
                measured.append(speed_ups(runs))
                of_way[name].append(errors(texts, runs))
                after = f"  in {time.monotonic() - began:.0f} s"
                after += f", precise to {precision_percent(runs):.1f} %"
                print(line(f"seed {seed}, {name}", of_way[name][-1], after), flush=True)
            if len(measured) > 1:
                ratios.append(100 * (measured[1] / measured[0] - 1))
                print(line(f"seed {seed}, second / first", ratios[-1]), flush=True)
    for name, every in of_way.items():
        sizes = np.abs(every)
        mean = f"  {sizes.mean():.1f} % off on average, {sizes.max():.1f} % at most"
        print(line(f"mean, {name}", np.mean(every, axis=0), mean))
    if ratios:
        print(line("mean, second / first", np.mean(ratios, axis=0)))


if __name__ == "__main__":
    main()
