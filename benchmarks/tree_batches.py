"""Whether a tree pays at a batch size, by passes timed here: the best tree beside the best chain.

    specplan measure --temperature 0 -o profile.json
    python benchmarks/tree_batches.py profile.json --batch 1 8 64

Acceptance by rank comes from the profile, whose pair is the embedded one; passes of both models
over 1, 2, 4, ... tokens of each of so many sequences are timed in turns. The passes are plain ones:
the tree's mask is not in them. Intervals (95 %) are over the turns, the trees being kept.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from embedded_pair import embedded_pair
from numpy.typing import NDArray

from estimator.profiles.profile_file import read_profile
from estimator.runs.under_load import Batch
from simulator.acceptance.iid import Iid
from simulator.choice.gain import speed_up
from simulator.cost.curves import CostModel
from simulator.schemes.tree_choice import Passes, choose_tree
from simulator.schemes.trees import TreeAcceptance, nodes_of

TARGET_WIDTHS, DRAFT_WIDTHS = (1, 2, 3, 5, 9, 17, 33), (1, 2, 4, 8, 16)
RESAMPLED = 2000
Turns = dict[int, NDArray[np.float64]]


def passes_of(target: Turns, draft: Turns, turns: Sequence[int] | slice) -> Passes:
    """Returns costs by the median of some turns."""
    verification, drafting = (
        {n: float(np.median(seconds[turns])) for n, seconds in curve.items()}
        for curve in (target, draft)
    )
    return Passes(CostModel(verification, draft_seconds=drafting[1]), drafting)


@torch.inference_mode()
def timed(batches: Mapping[str, Batch], widths: Mapping[str, Sequence[int]], turns: int) -> tuple[
    Turns, Turns
]:
    """Returns the seconds of each model's passes, shape (turns,), by tokens a sequence."""
    found = {
        (role, n): np.zeros(turns) for role in ("target", "draft") for n in widths[role]
    }
    for turn in range(-1, turns):   # the first warms up
        for (role, n), seconds in found.items():
            seconds[turn] = batches[role].seconds(1, n)
    target, draft = (
        {n: seconds for (role, n), seconds in found.items() if role == wanted}
        for wanted in ("target", "draft")
    )
    return target, draft


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("profile", type=Path)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--max-nodes", type=int, default=32)
    arguments = parser.parse_args()
    rates = read_profile(arguments.profile).drafting().acceptance_by_rank
    print("acceptance by rank", " ".join(f"{rate:.3f}" for rate in rates[:8]))
    pair = embedded_pair()
    models = {"target": pair.target, "draft": pair.draft}
    print("| batch | target, ms over 1, 9, 33 | draft, ms over 1, 8 | best tree, by level | tokens "
          "per call | speed-up | best chain | speed-up | tree over chain [95 %] |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    generator = np.random.default_rng(0)
    for batch in arguments.batch:
        with torch.inference_mode():
            batches = {
                role: Batch(model, batch, arguments.context) for role, model in models.items()
            }
        target, draft = timed(
            batches, {"target": TARGET_WIDTHS, "draft": DRAFT_WIDTHS}, arguments.turns
        )
        choice = choose_tree(
            rates, passes_of(target, draft, slice(None)), max_nodes=arguments.max_nodes, max_depth=8
        )
        best, chain = choice.best, choice.chain
        trees = TreeAcceptance(tuple(rates), {len(best.parents): best.parents})
        gains = []
        for _ in range(RESAMPLED):
            turns = generator.integers(arguments.turns, size=arguments.turns)
            passes = passes_of(target, draft, turns)
            gains.append(
                speed_up(trees, passes.of_trees(trees.shapes), len(best.parents))
                / speed_up(Iid(rates[0]), passes.chain, len(chain.parents))
            )
        low, high = np.quantile(gains, (0.025, 0.975))
        levels = np.bincount([node.depth for node in nodes_of(best.parents)])[1:]
        shown = [
            ", ".join(f"{1e3 * np.median(curve[n]):.1f}" for n in widths)
            for curve, widths in ((target, (1, 9, 33)), (draft, (1, 8)))
        ]
        print(
            f"| {batch} | {shown[0]} | {shown[1]} | {' + '.join(map(str, levels)) or 'none'} "
            f"| {best.tokens:.2f} | {best.speedup:.2f} | {len(chain.parents) or 'none'} "
            f"| {chain.speedup:.2f} | {best.speedup / chain.speedup:.2f} [{low:.2f}, {high:.2f}] |"
        )


if __name__ == "__main__":
    main()
