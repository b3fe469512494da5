"""Which tree: size and depth that follow from what passes cost on this machine.

Sequoia (Chen et al. 2024), section 3.3, chooses size and depth by what verification costs there:

    speed-up(T) = F(T) (t_p(1) + t_b) / ( Σ over levels of t_q(nodes read) + t_p(|T| + 1) + t_o )

A draft model reads one level more of the tree in each pass, and the tree above it again (its cache
is that of a text), so that the pass after d levels is over all nodes so far that have children.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simulator.cost.curves import CostModel
from simulator.cost.roofline import forward_seconds
from simulator.cost.roofline_cost import Deployment
from simulator.numerics.arguments import integer, non_negative
from simulator.schemes.trees import BestTrees, best_trees, chain, nodes_of, tree_tokens

# A larger tree must gain at least this much more, relatively: less is rounding.
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class TreeCost:
    """Times of passes over several tokens of one sequence each.

    target: t_p(n), t_o and t_b; what it says of drafting is not read.
    draft_seconds: t_q(n), a draft pass over n tokens, by n; 1 is required. Linear between its
      points; beyond them it goes on as its last segment does, or stays flat where that one falls.
    """

    target: CostModel
    draft_seconds: Mapping[int, float]

    def __post_init__(self) -> None:
        points = {
            integer("n in draft_seconds", n, at_least=1): float(
                non_negative(f"draft_seconds[{n}]", seconds)
            )
            for n, seconds in self.draft_seconds.items()
        }
        if 1 not in points:
            raise ValueError(f"draft_seconds must have the point 1, got {sorted(points)}")
        object.__setattr__(self, "draft_seconds", dict(sorted(points.items())))

    def draft_pass_seconds(self, n: int) -> float:
        """Returns t_q(n), the time of a draft pass over n tokens."""
        points, seconds = list(self.draft_seconds), list(self.draft_seconds.values())
        if n <= points[-1] or len(points) == 1:
            return float(np.interp(n, points, seconds))
        slope = (seconds[-1] - seconds[-2]) / (points[-1] - points[-2])
        return seconds[-1] + (n - points[-1]) * max(slope, 0.0)

    @property
    def baseline_seconds(self) -> float:
        """Time per token of the target alone."""
        return self.target.baseline_seconds

    def block_seconds(self, parents: Sequence[int]) -> float:
        """Returns the time of a block that drafts a tree."""
        drafting = sum(self.draft_pass_seconds(n) for n in draft_passes(parents))
        return drafting + float(self.target.checking_seconds(len(parents)))


def draft_passes(parents: Sequence[int]) -> list[int]:
    """Returns over how many tokens each draft pass of a tree is, the first over the text's last."""
    nodes = nodes_of(parents)
    internal = sorted(nodes[parent].depth for parent in set(parents) if parent >= 0)
    if not nodes:
        return []
    deeper = range(1, max(internal, default=0) + 1)
    return [1, *(sum(depth <= level for depth in internal) for level in deeper)]


@dataclass(frozen=True, slots=True)
class TreePlan:
    """A tree, what a call of it yields, and what it gains over the target alone.

    parents: of the tree; empty: do not speculate.
    tokens: F, expected tokens per call.
    speedup: over the target alone.
    """

    parents: tuple[int, ...]
    tokens: float
    speedup: float

    @property
    def depth(self) -> int:
        """Tokens on the longest path."""
        return max((node.depth for node in nodes_of(self.parents)), default=0)

    @property
    def widest(self) -> int:
        """The most children that a node has."""
        return max((node.rank + 1 for node in nodes_of(self.parents)), default=0)


def priced(parents: Sequence[int], acceptance: ArrayLike, cost: TreeCost) -> TreePlan:
    """Returns what one tree yields and gains; the empty one is not to speculate."""
    shape = tuple(parents)
    if not shape:
        return TreePlan((), 1.0, 1.0)
    tokens = tree_tokens(shape, acceptance)
    return TreePlan(shape, tokens, tokens * cost.baseline_seconds / cost.block_seconds(shape))


@dataclass(frozen=True, slots=True)
class TreeChoice:
    """The best of all trees and the best chain, and the best tree of each size.

    best, chain: of any size up to the largest; empty: do not speculate.
    by_nodes: the best of 1, 2, … nodes.
    """

    best: TreePlan
    chain: TreePlan
    by_nodes: Mapping[int, TreePlan]


def choose_tree(
    acceptance: ArrayLike, cost: TreeCost, *, max_nodes: int = 64, max_depth: int = 16
) -> TreeChoice:
    """Returns the fastest tree, the fastest chain, and the fastest tree of each size.

    Of each size and depth the tree of most tokens stands for all.

    Args:
      acceptance: by rank.
      cost: of passes.
      max_nodes, max_depth: the largest considered, at least 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    deepest = integer("max_depth", max_depth, at_least=1)
    trees = best_trees(acceptance, max_nodes=max_nodes, max_depth=deepest)
    by_nodes = {
        nodes: _fastest(_candidates(trees, nodes, deepest), acceptance, cost)
        for nodes in range(1, max_nodes + 1)
        if np.isfinite(trees.tokens[deepest, nodes])
    }
    nothing = priced((), acceptance, cost)
    chains = [priced(chain(n), acceptance, cost) for n in range(1, min(max_nodes, deepest) + 1)]
    return TreeChoice(
        best=_first_best([nothing, *by_nodes.values()]),
        chain=_first_best([nothing, *chains]),
        by_nodes=by_nodes,
    )


def _candidates(trees: BestTrees, nodes: int, deepest: int) -> list[tuple[int, ...]]:
    """Returns the trees of that size of most tokens, one for each depth that adds any."""
    found: list[tuple[int, ...]] = []
    best = -np.inf
    for depth in range(1, min(nodes, deepest) + 1):
        if trees.tokens[depth, nodes] > best + _TIE:
            best = trees.tokens[depth, nodes]
            found.append(trees.parents(nodes, depth))
    return found


def _fastest(
    shapes: Sequence[tuple[int, ...]], acceptance: ArrayLike, cost: TreeCost
) -> TreePlan:
    return _first_best([priced(shape, acceptance, cost) for shape in shapes])


def _first_best(plans: Sequence[TreePlan]) -> TreePlan:
    """Returns the fastest, the first of those that are equally fast."""
    best = plans[0]
    for plan in plans[1:]:
        if plan.speedup > best.speedup * (1 + _TIE):
            best = plan
    return best


def roofline_tree_cost(
    deployment: Deployment, *, context: int, batch: int = 1, max_nodes: int = 64
) -> TreeCost:
    """Returns the costs of trees by a GPU's roofline; each sequence of the batch has a tree.

    Args:
      deployment: the models, and what they run on; a draft that drafts in parallel has no tree.
      context: tokens in each sequence's cache.
      batch: sequences decoded together.
      max_nodes: the curves are given up to this size.

    Raises:
      ValueError: if a size is out of range, the draft drafts in parallel, or the hardware lacks a
        format of a model.
    """
    if deployment.draft.parallel:
        raise ValueError(
            f"a tree needs a draft that drafts token by token, got {deployment.draft.kind}"
        )
    widths = np.arange(1, integer("max_nodes", max_nodes, at_least=1) + 2)
    curves = [
        dict(
            zip(
                widths.tolist(),
                forward_seconds(
                    shape,
                    deployment.hardware,
                    new_tokens=widths,
                    context=context,
                    batch=batch,
                    conditions=conditions,
                ).tolist(),
                strict=True,
            )
        )
        for shape, conditions in (
            (deployment.target, deployment.conditions),
            (deployment.draft.step, deployment.draft_conditions),
        )
    ]
    verification, drafting = curves
    return TreeCost(CostModel(verification, draft_seconds=0.0), drafting)
