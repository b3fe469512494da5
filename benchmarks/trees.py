"""Chain against tree on the embedded pair: predicted and measured tokens per call and speed-ups.

    python benchmarks/trees.py --temperature 1

Records which of the draft's choices the target's tokens are, times passes of both models over
several tokens, plans the best tree of a few sizes and the best chain from these, then decodes the
same prompts with each, interleaved with the target alone. Intervals are over prompts.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from embedded_pair import CPU, embedded_pair

from estimator.intervals import ratio_interval
from estimator.runs.arms import Subject
from estimator.seeding import seeded
from estimator.traces.scoring import trace
from estimator.traces.traces import acceptance_by_rank
from reference.drafter import Drafter
from reference.drafters.model_drafter import ModelDrafter
from reference.drafters.trees import TreeDrafter, likeliest, without_replacement
from reference.generation import begun_speculatively, decode
from reference.laws.sampling import Sampling
from reference.models.model import Model
from reference.models.tree_mask import require_branching
from reference.policies.policy import Fixed
from reference.records import Generation
from reference.stopping import Stopping
from simulator.choice.gain import speed_up
from simulator.cost.curves import CostModel
from simulator.schemes.tree_choice import Passes, choose_tree
from simulator.schemes.trees import TreeAcceptance, chain, nodes_of, tree_calls

WIDTHS = (1, 2, 4, 8, 16, 32)


def pass_seconds(model: Model, prompt: list[int], repeats: int) -> dict[int, float]:
    """Returns the median time of passes over several branching tokens after a prompt."""
    import torch

    found = {}
    with torch.inference_mode():
        model.start([*prompt, 1])
        for width in WIDTHS:
            tokens = torch.arange(width) % model.vocabulary
            times = []
            for _ in range(repeats):
                began = time.perf_counter()
                if width == 1:
                    model.extend(tokens)
                    model.rollback(len(prompt))
                else:
                    model.extend(tokens, [-1] * width)
                    model.keep(len(prompt), [])
                times.append(time.perf_counter() - began)
            found[width] = float(np.median(times))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure chains against trees.")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--nodes", type=int, nargs="+", default=[4, 8, 16])
    arguments = parser.parse_args()
    pair = embedded_pair(2 * arguments.prompts)
    target, prompts = pair.target, pair.prompts
    for model in (target, pair.draft):
        require_branching(model)
    sampling, stopping = Sampling(arguments.temperature), Stopping(arguments.tokens)
    drafter = ModelDrafter(pair.draft, sampling, target.vocabulary)
    subject = Subject(target, drafter, sampling, stopping)

    def traced(number: int, tokens: tuple[int, ...]) -> np.ndarray:
        rank = trace(subject, prompts[number], tokens, max_gamma=1).rank
        assert rank is not None
        return rank

    recorded = pair.recorded(
        drafter, sampling, tokens=arguments.tokens, max_gamma=1, first=arguments.prompts
    )
    rates = acceptance_by_rank(recorded, 16)
    print("acceptance by rank", " ".join(f"{rate:.3f}" for rate in rates))
    curves = [pass_seconds(model, prompts[0], 15) for model in (target, pair.draft)]
    for role, curve in zip(("target", "draft"), curves, strict=True):
        shown = ", ".join(f"{n}: {1e3 * seconds:.2f}" for n, seconds in curve.items())
        print(f"{role} pass over n tokens, ms: {shown}")
    passes = Passes(CostModel(curves[0], draft_seconds=curves[1][1]), curves[1])
    choice = choose_tree(rates, passes, max_nodes=max(arguments.nodes), max_depth=8)
    shapes = {"best chain": choice.chain.parents or chain(1), "best tree": choice.best.parents}
    for nodes in arguments.nodes:
        shapes[f"tree of {nodes}"] = choice.by_nodes[nodes].parents
    arms: dict[str, tuple[tuple[int, ...], Drafter]] = {}
    for name, parents in shapes.items():
        if parents:
            arms[name] = parents, TreeDrafter(drafter, parents, likeliest)
    last = f"tree of {arguments.nodes[-1]}"
    arms[f"{last}, drawn"] = shapes[last], TreeDrafter(drafter, shapes[last], without_replacement)

    def run(name: str, number: int, repeat: int) -> Generation:
        generator = seeded(CPU, 2, number, repeat)
        if name == "alone":
            return decode(
                target, prompts[number], sampling=sampling, stopping=stopping, generator=generator
            )
        parents, tree = arms[name]
        return begun_speculatively(
            target, tree, prompts[number], sampling=sampling, policy=Fixed(len(parents)),
            stopping=stopping, generator=generator,
        ).finished()  # fmt: skip

    names = ["alone", *arms]
    runs: dict[str, list[list[Generation]]] = {
        name: [[] for _ in range(arguments.prompts)] for name in names
    }
    order = np.random.default_rng(0)
    for repeat in range(arguments.repeats):
        for number in range(arguments.prompts):
            for place in order.permutation(len(names)):
                runs[names[place]][number].append(run(names[place], number, repeat))

    def per_token(name: str, measure: Callable[[Generation], float]) -> list[float]:
        return [
            sum(measure(text) for text in texts) / sum(len(text.tokens) for text in texts)
            for texts in runs[name]
        ]

    alone = per_token("alone", lambda text: text.decode_seconds)
    print("| draft | shape by level | tokens a call: foretold | on its text | measured [95 %] "
          "| speed-up foretold | measured [95 %] |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for name, (parents, _) in arms.items():
        shapes_of_one = {len(parents): parents}
        acceptance = TreeAcceptance(rates, shapes_of_one)
        factor = float(speed_up(acceptance, passes.of_trees(shapes_of_one), len(parents)))
        tokens = float(acceptance.tokens_per_call(len(parents)))
        calls = per_token(name, lambda text: text.target_calls)
        own = [
            sum(
                len(tree_calls(traced(number, text.tokens), parents, limit=arguments.tokens))
                for text in texts
            )
            / sum(len(text.tokens) for text in texts)
            for number, texts in enumerate(runs[name])
        ]
        low, high = ratio_interval([1.0] * len(calls), calls)
        seconds = per_token(name, lambda text: text.decode_seconds)
        fast_low, fast_high = ratio_interval(alone, seconds)
        levels = np.bincount([node.depth for node in nodes_of(parents)])[1:]
        replayed = "-" if "drawn" in name else f"{len(own) / sum(own):.2f}"
        print(
            f"| {name} | {' + '.join(map(str, levels))} | {tokens:.2f} | {replayed} "
            f"| {len(calls) / sum(calls):.2f} [{low:.2f}, {high:.2f}] | {factor:.2f} "
            f"| {sum(alone) / sum(seconds):.2f} [{fast_low:.2f}, {fast_high:.2f}] |"
        )


if __name__ == "__main__":
    main()
