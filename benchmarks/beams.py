"""Speculative beam search on the embedded pair: calls predicted and measured.

    python benchmarks/beams.py

Counts on some prompts how often the draft's u beams contain the target's w beams. From this rate
it predicts the calls of other prompts, as if all steps were equal, and counts them.
"""

import argparse

from embedded_pair import embedded_pair

from estimator.intervals import ratio_interval
from reference.beams import BeamSettings, beam_search
from simulator.acceptance.acceptance import Iid
from simulator.cost.curves import BeamCost


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure speculative beam search.")
    parser.add_argument("--width", type=int, default=4)
    parser.add_argument("--draft-widths", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--gamma", type=int, default=4)
    parser.add_argument("--prompts", type=int, default=6)
    parser.add_argument("--tokens", type=int, default=24)
    arguments = parser.parse_args()
    pair = embedded_pair(2 * arguments.prompts)
    search = BeamSettings(arguments.width, arguments.tokens)
    print("| u | budget w + uγ | P(top_w ⊆ top_u) | steps a call: predicted | measured [90 %] |")
    print("|---|---|---|---|---|")
    for wide in arguments.draft_widths:
        found = [
            beam_search(
                pair.target, prompt, search=search, draft=pair.draft, draft_width=wide,
                gamma=arguments.gamma,
            )
            for prompt in pair.prompts
        ]  # fmt: skip
        others, own = found[: arguments.prompts], found[arguments.prompts :]
        covered = sum(each.covered for each in others) / sum(each.judged for each in others)
        steps = [each.steps for each in own]
        calls = [each.target_calls for each in own]
        low, high = ratio_interval(steps, calls)
        cost = BeamCost(arguments.width, wide, {1: 1.0}, {1: 0.0})
        print(
            f"| {wide} | {cost.budget(arguments.gamma)} | {covered:.3f} "
            f"| {Iid(covered).tokens_per_call(arguments.gamma):.2f} "
            f"| {sum(steps) / sum(calls):.2f} [{low:.2f}, {high:.2f}] |"
        )


if __name__ == "__main__":
    main()
