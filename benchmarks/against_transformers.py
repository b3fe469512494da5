"""Our loop beside transformers' assisted generation: same pair, prompts, gamma and machine.

    python benchmarks/against_transformers.py [--gamma 4] [--repeats 5]

Greedy, so that both must emit the same ids; their defaults are undone where they vary gamma
(confidence threshold 0, schedule "constant"). Runs are interleaved; the medians' ratio is printed.
"""

import argparse
import statistics
import time

import torch

from estimator.prompts import embedded_prompts
from reference.drafters.model_drafter import ModelDrafter
from reference.generation import decode, decode_speculatively
from reference.laws.sampling import Sampling
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_model, load_tokenizer
from reference.policies.policy import Fixed
from reference.stopping import Stopping


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare with transformers' assisted generation.")
    parser.add_argument("--gamma", type=int, default=4)
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--max-new-tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    device = torch.device("cpu")
    target, draft = (
        load_model(str(weights_folder(name)), device=device) for name in ("target", "draft")
    )
    tokenizer = load_tokenizer(str(weights_folder("target")))
    prompts = embedded_prompts(tokenizer, count=arguments.prompts, prompt_tokens=64)
    sampling = Sampling(temperature=0)
    drafter = ModelDrafter(draft, sampling, target.vocabulary)
    stopping = Stopping(arguments.max_new_tokens)
    generator = torch.Generator().manual_seed(0)
    for module in (target.module, draft.module):
        module.generation_config.eos_token_id = None
        module.generation_config.pad_token_id = 0
    draft.module.generation_config.num_assistant_tokens = arguments.gamma
    draft.module.generation_config.num_assistant_tokens_schedule = "constant"
    draft.module.generation_config.assistant_confidence_threshold = 0.0

    def theirs(prompt: list[int], assistant: object) -> list[int]:
        ids = target.module.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.int64),
            max_new_tokens=arguments.max_new_tokens,
            do_sample=False,
            assistant_model=assistant,
        )
        return ids[0, len(prompt) :].tolist()

    settings = {"sampling": sampling, "stopping": stopping, "generator": generator}
    ways = {
        "ours, one by one": lambda prompt: list(decode(target, prompt, **settings).tokens),
        "ours, speculative": lambda prompt: list(
            decode_speculatively(
                target, drafter, prompt, policy=Fixed(arguments.gamma), **settings
            ).tokens
        ),
        "transformers, one by one": lambda prompt: theirs(prompt, None),
        "transformers, assisted": lambda prompt: theirs(prompt, draft.module),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for repeat in range(arguments.repeats + 1):   # the first warms up
        spent = dict.fromkeys(ways, 0.0)
        for prompt in prompts:
            outputs = {}
            for name, way in ways.items():
                began = time.perf_counter()
                outputs[name] = way(prompt)
                spent[name] += time.perf_counter() - began
            assert len({tuple(output) for output in outputs.values()}) == 1, "outputs differ"
        if repeat > 0:
            for name in ways:
                seconds[name].append(spent[name])
    tokens = len(prompts) * arguments.max_new_tokens
    median = {name: statistics.median(values) for name, values in seconds.items()}
    for name in ways:
        print(f"{name:26} {tokens / median[name]:7.1f} tokens/s, prompts' own passes included")
    ours, other = median["ours, speculative"], median["transformers, assisted"]
    print(f"ours is {other / ours:.2f} times as fast as transformers' assisted generation")


if __name__ == "__main__":
    main()
