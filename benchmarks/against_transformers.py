"""Compares our loop with transformers' assisted generation: equal pair, prompts, γ and machine.

    python benchmarks/against_transformers.py [--gammas 2,4,8] [--temperatures 0,1] [--compile]

Defaults of transformers that vary γ are switched off (confidence threshold 0, schedule "constant").
At temperature 0 all loops must emit equal ids. They take turns prompt by prompt, the prompts'
passes included, and the speed of each turn is divided out (`estimator.timing.precision`). Intervals
are over prompts. With --compile our loop also runs compiled; transformers' assisted generation
cannot, because it accepts no static cache. Also printed: our time in each model's passes and
outside them.
"""

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from embedded_pair import Pair, embedded_pair

from estimator.intervals import ratio_interval
from estimator.timing.precision import polish
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.cached_model import CachedModel
from reference.models.compiled_model import CompiledModel
from reference.policies import Fixed
from reference.records import Generation, Stopping
from reference.speculative import Subject, speculative_session

Way = Callable[[list[int]], list[int]]


Models = tuple[CachedModel, CachedModel]
"""Target and draft."""


def compiled(pair: Pair, gammas: Sequence[int], longest: int) -> Models:
    """Returns a pair with compiled passes."""
    widths = sorted({1, *(gamma + 1 for gamma in gammas)})
    return (
        CompiledModel(pair.target, longest=longest, widths=widths),
        CompiledModel(pair.draft, longest=longest, widths=(1, 2)),
    )


def ours(
    models: Models,
    sampling: Sampling,
    gamma: int,
    stopping: Stopping,
    kept: list[Generation],
) -> Way:
    """Returns our way; what it generates is kept."""
    target, draft = models
    drafter = ModelDrafter(draft, sampling, target.vocabulary)
    subject = Subject(target, drafter, sampling, stopping)
    generator = torch.Generator().manual_seed(0)

    def way(prompt: list[int]) -> list[int]:
        run = speculative_session(subject, prompt, Fixed(gamma), generator).finished()
        kept.append(run)
        return list(run.tokens)

    return way


def theirs(models: Models, temperature: float, gamma: int, tokens: int) -> Way:
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
        written: list[int] = ids[0, len(prompt) :].tolist()
        return written

    return way


def timed(
    ways: dict[str, Way], prompts: Sequence[list[int]], *, repeats: int, alike: bool
) -> dict[str, list[float]]:
    """Returns the seconds of each prompt, by way, at the median speed of its turns.

    A turn is a text of each way, in random order; the first of each prompt warms up. alike: whether
    all ways and repeats must give the same text.
    """
    seconds = {name: [[0.0] * repeats for _ in prompts] for name in ways}
    order = np.random.default_rng(0)
    for repeat in range(-1, repeats):
        for number, prompt in enumerate(prompts):
            outputs = set()
            for name in order.permutation(list(ways)).tolist():
                began = time.perf_counter()
                outputs.add(tuple(ways[name](prompt)))
                if repeat >= 0:
                    seconds[name][number][repeat] = time.perf_counter() - began
            assert len(outputs) == 1 or not alike, "greedy outputs differ"
    polished, _ = polish(np.array(list(seconds.values())).swapaxes(0, 1))
    return dict(zip(ways, polished.T.tolist(), strict=True))


def split(runs: Sequence[Generation]) -> str:
    """Returns where a block's time goes, in microseconds, and what share of it is outside both."""
    blocks = sum(len(run.blocks) for run in runs)
    draft, verify, other = (
        1e6 * sum(getattr(run, f"{part}_seconds") for run in runs) / blocks
        for part in ("draft", "verify", "other")
    )
    share = 100 * other / (draft + verify + other)
    return f"{draft:16.0f}  {verify:6.0f}  {other:4.0f} ({share:.1f} %)"


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
    pair, other_pair = (
        embedded_pair(arguments.prompts, prompt_tokens=arguments.prompt_tokens) for _ in range(2)
    )
    eager, prompts = (pair.target, pair.draft), pair.prompts
    longest = arguments.prompt_tokens + tokens
    fast = compiled(other_pair, gammas, longest) if arguments.compile else None
    torch.manual_seed(0)
    print(
        "temperature  gamma  ours      tokens/s  transformers'  times as fast       "
        "us a block: draft  verify  outside"
    )
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
            seconds = timed(ways, prompts, repeats=arguments.repeats, alike=temperature == 0)
            speeds = {name: len(prompts) * tokens / sum(of) for name, of in seconds.items()}
            for name, runs in kept.items():
                low, high = ratio_interval(seconds["theirs"], seconds[name])
                interval = "[-]" if low is None else f"[{low:.2f}, {high:.2f}]"
                rate, other = speeds[name], speeds["theirs"]
                print(
                    f"{temperature:11g}  {gamma:5}  {name:8}  {rate:8.1f}  {other:13.1f}  "
                    f"{rate / other:.2f} {interval:14}  {split(runs[len(prompts) :])}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
