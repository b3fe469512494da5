"""Chooses a tree's size and depth from measured times of passes.

    speed-up(T) = F(T) (t_p(1) + t_b) / ( t_d(T) + t_p(|T| + 1) + t_o )
    t_d(T) = t_d(depth) + Σ over levels (t_q(nodes read) - t_q(1))

Sequoia (Chen et al. 2024), section 3.3, with the draft's passes added: t_d(γ) is the time to draft
a chain (a draft without branches) of γ tokens, so that a tree shaped as a chain costs what it does.
A tree is an acceptance and a cost with its number of nodes as γ. It is compared with a chain.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simulator.acceptance.acceptance import Acceptance, Iid
from simulator.choice.advice import advise
from simulator.choice.curve import best_gamma, speed_up
from simulator.cost.cost import ChangedCost, Cost
from simulator.cost.curves import pass_points, pass_seconds
from simulator.numerics.arguments import integer
from simulator.numerics.intervals import Forecast
from simulator.schemes.trees import (
    BestTrees,
    Shapes,
    TreeAcceptance,
    best_trees,
    chain,
    depths_and_ranks,
    draft_passes,
)

# A deeper tree is considered if it yields at least this many more tokens; less is rounding.
_MORE_TOKENS = 1e-9


@dataclass(frozen=True, slots=True)
class Passes:
    """Times of the target's and the draft's passes, for drafts with and without branches.

    A fit knows blocks of chains: far beyond its runs, what a chain leaves after its drafting is no
    time of checking. So a tree costs a chain of its depth, and its further tokens by
    the fit's most probable parameters.

    chain: cost of drafts without branches; trees use its times of verification and baseline, too.
    draft_seconds: t_q(n), seconds of a draft pass over n tokens, by n.
    """

    chain: Cost
    draft_seconds: Mapping[int, float]

    def __post_init__(self) -> None:
        points = pass_points("draft_seconds", self.draft_seconds)
        object.__setattr__(self, "draft_seconds", points)

    def of_trees(self, shapes: Shapes) -> ChangedCost:
        """Returns the cost of blocks that draft these trees, by number of nodes."""

        def drafting(nodes: int) -> float:
            shape = shapes[nodes]
            seconds = float(self.chain.drafting_seconds(max(depths_and_ranks(shape)[0])))
            if shape == chain(nodes):  # which is drafted as without a tree
                return seconds
            single, levels = (
                pass_seconds(self.draft_seconds, read) for read in ([1], draft_passes(shape))
            )
            return seconds + float((levels - single).sum())

        law, point = self.chain.posterior, self.chain.point
        if law is None or point is None:
            return ChangedCost(self.chain, drafting)

        def again(nodes: int) -> float:
            depth, checking = max(depths_and_ranks(shapes[nodes])[0]), self.chain.checking_seconds
            whole, single = (law.checking_ratio(point, read + 1) for read in (nodes, depth))
            more = (whole - single) * self.chain.baseline_seconds
            return more - float(checking(nodes) - checking(depth))

        return ChangedCost(self.chain, drafting, again)


@dataclass(frozen=True, slots=True)
class TreePlan:
    """A tree and its speed-up over the baseline (no speculation).

    parents: parent of each node of the tree (see `trees`); empty: do not speculate.
    tokens: F, expected tokens per target call.
    """

    parents: tuple[int, ...]
    tokens: float
    speedup: float

    @property
    def depth(self) -> int:
        """Tokens on the longest path."""
        return max(depths_and_ranks(self.parents)[0], default=0)

    @property
    def widest(self) -> int:
        """The largest number of children of any node."""
        return 1 + max(depths_and_ranks(self.parents)[1], default=-1)


@dataclass(frozen=True, slots=True)
class TreeChoice:
    """The fastest trees, and the best chain for comparison.

    best: the fastest tree; a tree without nodes means: do not speculate.
    chain: the draft without branches that `specplan plan` advises; no nodes: do not speculate.
    by_nodes: the fastest tree of each size.
    """

    best: TreePlan
    chain: TreePlan
    by_nodes: Mapping[int, TreePlan]

    @property
    def fastest(self) -> TreePlan:
        """The best tree if it branches and is faster than the chain, which needs no mask."""
        branches = self.best.widest > 1
        return self.best if branches and self.best.speedup > self.chain.speedup else self.chain


def choose_tree(
    acceptance: ArrayLike,
    passes: Passes,
    *,
    max_nodes: int = 64,
    max_depth: int = 16,
    captured: int | None = None,
) -> TreeChoice:
    """Returns the fastest tree among those with the most expected tokens for their size and depth.

    Narrower trees with fewer tokens but also fewer draft passes are not tried: in one of 200 small
    random cases such a tree was faster, by at most 4 %.

    acceptance: acceptance rates by rank.
    captured: most nodes of a step that the server runs as a captured graph. Larger trees are priced
      but never chosen. None: no limit.
    """

    def planned(shape: tuple[int, ...], tree: Acceptance, cost: Cost) -> TreePlan:
        gamma = len(shape)
        tokens, factor = tree.tokens_per_call(gamma), speed_up(tree, cost, gamma)
        return TreePlan(shape, float(tokens), float(factor))

    deepest = integer("max_depth", max_depth, at_least=1)
    trees = fastest_trees(acceptance, passes, max_nodes=max_nodes, max_depth=deepest)
    cost, single = passes.of_trees(trees.shapes), Iid(trees.alpha)
    by_nodes = {nodes: planned(shape, trees, cost) for nodes, shape in trees.shapes.items()}
    limit = max_nodes if captured is None else captured
    best = best_gamma(trees, cost, max_gamma=min(len(trees.shapes), limit)) if limit > 0 else 0
    gammas = np.arange(1, min(max_nodes, deepest, limit) + 1)
    gamma = advise(gammas, Forecast.exact(np.log(speed_up(single, passes.chain, gammas)))).gamma
    return TreeChoice(
        best=by_nodes[best] if best else TreePlan((), 1.0, 1.0),
        chain=planned(chain(gamma), single, passes.chain),
        by_nodes=by_nodes,
    )


def fastest_trees(
    acceptance: ArrayLike, passes: Passes, *, max_nodes: int, max_depth: int
) -> TreeAcceptance:
    """Returns, for each size, the fastest of the trees with most expected tokens at a depth."""
    trees_by_nodes = best_trees(acceptance, max_nodes=max_nodes, max_depth=max_depth)
    rates = tuple(trees_by_nodes.acceptance.tolist())
    chosen = {}
    for nodes in range(1, max_nodes + 1):
        factors = {
            shape: float(speed_up(TreeAcceptance(rates, one), passes.of_trees(one), nodes))
            for shape in _candidates(trees_by_nodes, nodes)
            for one in [{nodes: shape}]
        }
        if factors:
            # The shallowest of the fastest, which may differ by rounding.
            least = max(factors.values()) * (1 - _MORE_TOKENS)
            chosen[nodes] = next(shape for shape, factor in factors.items() if factor >= least)
    return TreeAcceptance(rates, chosen)


def _candidates(trees: BestTrees, nodes: int) -> list[tuple[int, ...]]:
    """Returns the best tree at each depth at which it yields more tokens than at smaller depths."""
    shapes: list[tuple[int, ...]] = []
    best = -np.inf
    for depth in range(1, min(nodes + 1, len(trees.tokens))):
        if trees.tokens[depth, nodes] > best + _MORE_TOKENS:
            best = trees.tokens[depth, nodes]
            shapes.append(trees.parents(nodes, depth))
    return shapes
