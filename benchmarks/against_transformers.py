"""Our loop beside transformers' assisted generation: same pair, prompts, γ and machine.

    python benchmarks/against_transformers.py [--gammas 2,4,8] [--temperatures 0,1] [--compile]

Their defaults are undone where they vary γ (confidence threshold 0, schedule "constant"). At
temperature 0 all must emit the same ids. The ways are interleaved prompt by prompt; each prompt
counts by its fastest repeat, and intervals are over prompts. With --compile ours runs compiled as
well; transformers' assisted generation takes no static cache, and so cannot be. Printed, too: the
share of our time outside both models' passes, prefill apart.
"""

import argparse
import time
from collections.abc import Callable, Sequence

import torch

from estimator.intervals import ratio_interval
from estimator.prompts import embedded_prompts
from reference.drafters.model_drafter import ModelDrafter
from reference.generation import decode_speculatively
from reference.laws.sampling import Sampling
from reference.models.cached_model import CachedModel
from reference.models.compiled_model import CompiledModel
from reference.models.embedded import weights_folder
from reference.models.huggingface import CausalModel, load_model, load_tokenizer
from reference.policies.policy import Fixed
from reference.records import Generation
from reference.stopping import Stopping

Way = Callable[[list[int]], list[int]]


def pair() -> tuple[CachedModel, CachedModel]:
    target, draft = (
        load_model(str(weights_folder(name)), device=torch.device("cpu"))
        for name in ("target", "draft")
    )
    return target, draft


def compiled(gammas: Sequence[int], longest: int) -> tuple[CachedModel, CachedModel]:
    """Returns the pair with compiled passes."""
    target, draft = pair()
    assert isinstance(target, CausalModel)
    assert isinstance(draft, CausalModel)
    widths = sorted({1, *(gamma + 1 for gamma in gammas)})
    return (
        CompiledModel(target, longest=longest, widths=widths),
        CompiledModel(draft, longest=longest, widths=(1, 2)),
    )


def ours(
    models: tuple[CachedModel, CachedModel],
    sampling: Sampling,
    gamma: int,
    stopping: Stopping,
    kept: list[Generation],
) -> Way:
    """Returns our way; what it generates is kept."""
    target, draft = models
    drafter = ModelDrafter(draft, sampling, target.vocabulary)
    generator = torch.Generator().manual_seed(0)

    def way(prompt: list[int]) -> list[int]:
        run = decode_speculatively(
            target, drafter, prompt, sampling=sampling, policy=Fixed(gamma), stopping=stopping,
            generator=generator,
        )   # fmt: skip
        kept.append(run)
        return list(run.tokens)

    return way


def theirs(
    models: tuple[CachedModel, CachedModel], temperature: float, gamma: int, tokens: int
) -> Way:
    """Returns transformers' way."""
    target, draft = (model.module for model in models)
    for module in (target, draft):
        module.generation_config.eos_token_id = None
        module.generation_config.pad_token_id = 0
    sampled = {"temperature": temperature, "top_k": 0} if temperature > 0 else {}

    def way(prompt: list[int]) -> list[int]:
        draft.generation_config.num_assistant_tokens = gamma
        draft.generation_config.num_assistant_tokens_schedule = "constant"
        draft.generation_config.assistant_confidence_threshold = 0.0
        ids = target.generate(
            torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.int64),
            max_new_tokens=tokens,
            do_sample=temperature > 0,
            assistant_model=draft,
            **sampled,
        )
        found: list[int] = ids[0, len(prompt) :].tolist()
        return found

    return way


def timed(
    ways: dict[str, Way], prompts: Sequence[list[int]], *, repeats: int, alike: bool
) -> dict[str, list[float]]:
    """Returns the seconds of each prompt's fastest repeat, by way; the first one warms up."""
    seconds = {name: [float("inf")] * len(prompts) for name in ways}
    for repeat in range(repeats + 1):
        for number, prompt in enumerate(prompts):
            outputs = set()
            for name, way in ways.items():
                began = time.perf_counter()
                outputs.add(tuple(way(prompt)))
                spent = time.perf_counter() - began
                if repeat > 0:
                    seconds[name][number] = min(seconds[name][number], spent)
            assert len(outputs) == 1 or not alike, "greedy outputs differ"
    return seconds


def outside(runs: Sequence[Generation]) -> float:
    """Returns the share of decoding that is outside both models' passes, per cent."""
    other = sum(run.other_seconds for run in runs)
    return 100 * other / sum(run.decode_seconds for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare with transformers' assisted generation.")
    parser.add_argument("--gammas", default="2,4,8")
    parser.add_argument("--temperatures", default="0,1")
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--max-new-tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    gammas = [int(part) for part in arguments.gammas.split(",")]
    tokens = arguments.max_new_tokens
    eager = pair()
    fast = compiled(gammas, arguments.prompt_tokens + tokens) if arguments.compile else None
    tokenizer = load_tokenizer(str(weights_folder("target")))
    prompts = embedded_prompts(
        tokenizer, count=arguments.prompts, prompt_tokens=arguments.prompt_tokens
    )
    print("temperature  gamma  ours           tokens/s  transformers'  times as fast  outside")
    for temperature in (float(part) for part in arguments.temperatures.split(",")):
        for gamma in gammas:
            sampling, stopping = Sampling(temperature=temperature), Stopping(tokens)
            kept: dict[str, list[Generation]] = {"eager": []}
            ways = {
                "eager": ours(eager, sampling, gamma, stopping, kept["eager"]),
                "theirs": theirs(eager, temperature, gamma, tokens),
            }
            if fast is not None:
                kept["compiled"] = []
                ways["compiled"] = ours(fast, sampling, gamma, stopping, kept["compiled"])
            seconds = timed(
                ways, prompts, repeats=arguments.repeats, alike=temperature == 0
            )
            other = seconds["theirs"]
            for name, runs in kept.items():
                low, high = ratio_interval(other, seconds[name])
                interval = "[-]" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"
                speeds = [len(prompts) * tokens / sum(each) for each in (seconds[name], other)]
                print(
                    f"{temperature:11g}  {gamma:5}  {name:10}  {speeds[0]:11.1f}  "
                    f"{speeds[1]:13.1f}  {sum(other) / sum(seconds[name]):.2f} {interval}  "
                    f"{outside(runs[len(prompts) :]):13.1f} %",
                    flush=True,
                )


if __name__ == "__main__":
    main()
