"""Measures whether decoding in short turns changes speed-ups.

    OMP_NUM_THREADS=1 python benchmarks/bias_of_turns.py --seconds 240

The embedded target, without a draft and with drafts of each gamma, decodes short texts in pairs:
once in turns of a few tokens, once each arm's text as a whole, in random order. The bias of turns
is the logarithm of the speed-up in turns over the speed-up of whole texts. It prints medians over
pairs with 90 % intervals by a bootstrap over pairs. Both parts of a pair run within a second and
are timed by one thread's processor time, so changes of the machine's speed matter little.
"""

import argparse
import time
from functools import partial

import numpy as np
import torch
from embedded_pair import embedded_pair

from estimator.timing.arms import Speculative, without_draft
from estimator.timing.rates import BASELINE
from estimator.timing.turns import decode_in_turns, duplicates, processor_clock
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling, seeded
from reference.policies import Fixed
from reference.records import Stopping
from reference.speculative import Subject

GAMMAS = (1, 2, 4, 8)
RESAMPLES = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=240.0, help="How long pairs run.")
    parser.add_argument("--prompts", type=int, default=8, help="Number of prompts.")
    parser.add_argument(
        "--prompt-tokens", type=int, default=16, help="Tokens of each prompt; not timed."
    )
    parser.add_argument("--tokens", type=int, default=5, help="Tokens of a turn (5: about 25 ms).")
    parser.add_argument("--turns", type=int, default=4, help="Turns of each arm's text.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the random order.")
    given = parser.parse_args()
    pair = embedded_pair(given.prompts)
    sampling = Sampling(0.0)
    drafter = ModelDrafter(pair.draft, sampling, pair.target.vocabulary)
    whole = given.turns * given.tokens
    # A text, so that twins know what caches take.
    first = Subject(pair.target, drafter, sampling, Stopping(whole))
    longest = Speculative(Fixed(max(GAMMAS)))
    longest(first, pair.prompts[0], seeded(pair.target.device, 0)).finished()
    ways = {BASELINE: without_draft} | {
        f"gamma {gamma}": Speculative(Fixed(gamma)) for gamma in GAMMAS
    }
    subjects = [
        Subject(target, own, sampling, Stopping(whole))
        for target, own in duplicates((pair.target, drafter), len(ways), longer=2.0)
    ]
    clock = processor_clock(pair.target.device)
    order = np.random.default_rng(given.seed)
    logarithms = []
    end = time.monotonic() + given.seconds
    while time.monotonic() < end:
        prompt = pair.prompts[len(logarithms) % given.prompts][: given.prompt_tokens]
        starts = [
            partial(way, own, prompt, seeded(own.target.device, 0))
            for way, own in zip(ways.values(), subjects, strict=True)
        ]
        seconds = {}
        for each in order.permutation([given.tokens, whole]).tolist():
            texts = decode_in_turns(starts, tokens=each, order=order, clock=clock)
            seconds[each] = np.array([text.decode_seconds for text, _ in texts])
        logarithms.append(np.log(seconds[given.tokens] / seconds[whole]))
    arms = np.array(logarithms)
    gained = arms[:, :1] - arms[:, 1:]
    found = np.column_stack([arms[:, 0], gained, gained.mean(axis=1)])
    drawn = order.integers(0, len(found), (RESAMPLES, len(found)))
    errors = np.median(found[drawn], axis=1).std(axis=0)
    print(
        f"{len(found)} pairs, texts of {whole} tokens in {given.turns} turns of {given.tokens}, "
        f"{torch.get_num_threads()} threads; per cent, in turns over whole"
    )
    names = ["seconds of the baseline", *(f"speed-up at {name}" for name in list(ways)[1:]), "mean"]
    for name, value, error in zip(names, np.median(found, axis=0), errors, strict=True):
        print(
            f"{name:24} {100 * value:+6.2f} [{100 * (value - 1.645 * error):+.2f}, "
            f"{100 * (value + 1.645 * error):+.2f}]"
        )


if __name__ == "__main__":
    main()
