"""Measures what block verification gains on the embedded pair: tokens per target call.

    python benchmarks/block_verification.py

Decodes each prompt several times under both rules and counts target calls, so that no clock is
involved; the prediction replays other texts of the target. Intervals are over prompts.
"""

import argparse

import numpy as np
from embedded_pair import embedded_pair

from estimator.intervals import ratio_interval
from estimator.seeding import seeded
from estimator.traces.traces import block_efficiency
from reference.drafters.model_drafter import ModelDrafter
from reference.generation import begun_speculatively
from reference.laws.sampling import Sampling
from reference.policies.policy import Fixed
from reference.rules.block_verification import BlockVerification
from reference.rules.strict import Strict
from reference.stopping import Stopping

RULES = (Strict(), BlockVerification())


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what block verification gains.")
    parser.add_argument("--gammas", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--prompts", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=3, help="texts of each prompt and rule")
    parser.add_argument("--tokens", type=int, default=96)
    arguments = parser.parse_args()
    pair = embedded_pair(arguments.prompts)
    target, prompts = pair.target, pair.prompts
    sampling, stopping = Sampling(), Stopping(arguments.tokens)
    drafter = ModelDrafter(pair.draft, sampling, target.vocabulary)
    longest = max(arguments.gammas)
    recorded = pair.recorded(drafter, sampling, tokens=arguments.tokens, max_gamma=longest)
    jointly = [each.judged("block", longest) for each in recorded]
    print("| γ | by token | by block | gain [95 %] | predicted gain |")
    print("|---|---|---|---|---|")
    for gamma in arguments.gammas:
        calls = np.zeros((len(RULES), len(prompts)))
        for place, rule in enumerate(RULES):
            for number, prompt in enumerate(prompts):
                for repeat in range(arguments.repeats):
                    run = begun_speculatively(
                        target, drafter, prompt, sampling=sampling, policy=Fixed(gamma),
                        stopping=stopping, rule=rule,
                        generator=seeded(target.device, 2 + repeat, number, place),
                    ).finished()  # fmt: skip
                    calls[place, number] += run.target_calls / len(run.tokens)
        low, high = ratio_interval(calls[0].tolist(), calls[1].tolist())
        tokens = calls.shape[1] * arguments.repeats / calls.sum(axis=1)
        gain = calls[0].sum() / calls[1].sum()
        foretold = block_efficiency(jointly, gamma) / block_efficiency(recorded, gamma)
        assert low is not None
        assert high is not None
        print(
            f"| {gamma} | {tokens[0]:.2f} | {tokens[1]:.2f} "
            f"| {100 * (gain - 1):+.1f} % [{100 * (low - 1):+.1f}, {100 * (high - 1):+.1f}] "
            f"| {100 * (foretold - 1):+.1f} % |"
        )


if __name__ == "__main__":
    main()
