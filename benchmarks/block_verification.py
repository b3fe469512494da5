"""Measures what block verification gains on the embedded pair: tokens per target call.

    python benchmarks/block_verification.py

Decodes each prompt several times under both rules and counts target calls, so that no clock is
involved; the prediction replays other texts of the target. Intervals are over prompts.
"""

import argparse

import numpy as np

from estimator.intervals import ratio_interval
from estimator.prompts import embedded_prompts
from estimator.seeding import seeded
from estimator.traces.scoring import trace
from estimator.traces.traces import block_efficiency
from reference.drafters.model_drafter import ModelDrafter
from reference.generation import decode, decode_speculatively
from reference.laws.sampling import Sampling
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_model, load_tokenizer, resolve_device
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
    folders = [str(weights_folder(role)) for role in ("target", "draft")]
    cpu = resolve_device("cpu")
    target, draft = (load_model(folder, device=cpu, dtype="float32") for folder in folders)
    sampling, stopping = Sampling(), Stopping(arguments.tokens)
    drafter = ModelDrafter(draft, sampling, target.vocabulary)
    prompts = embedded_prompts(
        load_tokenizer(folders[0]), count=arguments.prompts, prompt_tokens=64
    )
    longest = max(arguments.gammas)
    recorded = []
    for number, prompt in enumerate(prompts):
        text = decode(
            target, prompt, sampling=sampling, stopping=stopping,
            generator=seeded(target.device, 1, number),
        )  # fmt: skip
        recorded.append(
            trace(
                target, drafter, prompt, text.tokens, sampling=sampling,
                limit=arguments.tokens, max_gamma=longest,
            )
        )  # fmt: skip
    jointly = [each.judged("block", longest) for each in recorded]
    print("| γ | by token | by block | gain [95 %] | predicted gain |")
    print("|---|---|---|---|---|")
    for gamma in arguments.gammas:
        calls = np.zeros((len(RULES), len(prompts)))
        for place, rule in enumerate(RULES):
            for number, prompt in enumerate(prompts):
                for repeat in range(arguments.repeats):
                    run = decode_speculatively(
                        target, drafter, prompt, sampling=sampling, policy=Fixed(gamma),
                        stopping=stopping, rule=rule,
                        generator=seeded(target.device, 2 + repeat, number, place),
                    )  # fmt: skip
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
