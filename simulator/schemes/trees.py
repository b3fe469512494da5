"""Drafts that branch: a tree's expected tokens, and the passes that draft it.

    F(T) = 1 + Σ over nodes of Π of the acceptances a_k along the node's path

is the number of tokens per call, the target's own included (Sequoia, Chen et al. 2024, section
3.1). Acceptance a_k is the probability that the target's token is the draft's k-th choice after an
accepted token. A tree lists for each node its parent: an earlier node, or -1 for the text. A node's
children are its first, second, … choices in order. A chain of γ is -1, 0, …, γ-2.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from simulator.acceptance.acceptance import Acceptance, Price
from simulator.numerics.arguments import Floats, integer, integers, probability

# Trees by the number of their nodes.
Shapes = Mapping[int, tuple[int, ...]]

# Rounding error allowed in the sum of acceptances, which is at most 1.
_ROUNDING = 1e-9


def depths_and_ranks(parents: Sequence[int]) -> tuple[list[int], list[int]]:
    """Returns each node's depth (tokens on its path) and its rank among its siblings, 0 the best.

    Refuses parents that are neither an earlier node nor -1.
    """
    depths: list[int] = []
    ranks: list[int] = []
    children: dict[int, int] = {}
    for place, parent in enumerate(integers("parents", parents, at_least=-1).tolist()):
        if parent >= place:
            raise ValueError(f"parents must be earlier nodes or -1, got {parent} for node {place}")
        depths.append(1 if parent < 0 else depths[parent] + 1)
        ranks.append(children.get(parent, 0))
        children[parent] = ranks[-1] + 1
    return depths, ranks


def chain(gamma: int) -> tuple[int, ...]:
    """Returns the parents of a draft that does not branch."""
    return tuple(range(-1, integer("gamma", gamma) - 1))


def tree_tokens(parents: Sequence[int], acceptance: ArrayLike) -> float:
    """Returns F(T), the expected tokens per target call.

    acceptance: a_k, probability that the target's token is the draft's k-th choice; sum at most 1.
    """
    rates = checked_rates(acceptance)
    accepted: list[float] = []
    for rank, parent in zip(depths_and_ranks(parents)[1], parents, strict=True):
        before = 1.0 if parent < 0 else accepted[parent]
        accepted.append(before * (rates[rank] if rank < len(rates) else 0.0))
    return float(sum(accepted, start=1.0))


def draft_passes(parents: Sequence[int]) -> list[int]:
    """Returns the number of tokens that each pass of the draft model reads to draft a tree.

    The first pass reads the text's last token. Each further pass reads the nodes of one level that
    have children, and the nodes above them again, because the cache holds only one path.
    """
    depths, _ = depths_and_ranks(parents)
    going_on = {parent for parent in parents if parent >= 0}
    passes = [1] if depths else []
    while read := {node for node in going_on if depths[node] == len(passes)}:
        waiting = list(read)
        while waiting:
            above = parents[waiting.pop()]
            if above >= 0 and above not in read:
                read.add(above)
                waiting.append(above)
        passes.append(len(read))
    return passes


@dataclass(frozen=True, slots=True, eq=False)
class TreeAcceptance(Acceptance):
    """Acceptance of trees of the draft's most likely tokens; γ is the number of nodes.

        E[τ(γ)] = F(the tree of γ nodes)      (Sequoia, section 3.1)

    For γ above the largest tree, the largest tree is drafted. Effects of a text's end are ignored.

    rates: a_k, probability that the target's token is the draft's k-th choice; sum at most 1.
    shapes: parents of each tree, by number of nodes.
    """

    rates: tuple[float, ...]
    shapes: Shapes
    kind = "tree"
    observed_gamma = None
    _tokens: Mapping[int, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", tuple(checked_rates(self.rates).tolist()))
        tokens = {0: 1.0}
        for nodes, shape in self.shapes.items():
            if nodes != len(shape):
                raise ValueError(f"shapes[{nodes}] must have {nodes} nodes, got {len(shape)}")
            tokens[nodes] = tree_tokens(shape, self.rates)
        object.__setattr__(self, "_tokens", tokens)

    @property
    def alpha(self) -> float:
        """Acceptance rate of the draft's first choice."""
        return self.rates[0]

    def per_token(self, price: Price, gamma: ArrayLike) -> Floats:
        nodes = np.minimum(integers("gamma", gamma), max(self._tokens))
        missing = set(nodes.ravel().tolist()) - set(self._tokens)
        if missing:
            raise ValueError(f"shapes must have a tree of {min(missing)} nodes, got none")
        tokens = np.array([self._tokens[count] for count in nodes.ravel().tolist()])
        return np.asarray(price(nodes) / tokens.reshape(nodes.shape))[()]


def checked_rates(acceptance: ArrayLike) -> Floats:
    """Returns acceptance rates by rank as an array; raises ValueError if they are out of range."""
    rates = np.atleast_1d(probability("acceptance", acceptance))
    if rates.ndim != 1 or not len(rates) or rates.sum() > 1 + _ROUNDING:
        raise ValueError(
            "acceptance must be rates by rank whose sum is at most 1, got "
            f"{len(np.ravel(rates))} of sum {rates.sum():g}"
        )
    return rates


@dataclass(frozen=True, slots=True)
class BestTrees:
    """The best tree of each size and depth, found by `best_trees`.

    acceptance: acceptance rates by rank.
    tokens: F, expected tokens per target call, of the best tree by largest depth and number of
      nodes, shape (depths + 1, nodes + 1); -inf if there is none.
    forests: W_k of `best_trees`, shape (depths + 1, ranks + 1, nodes + 1).
    """

    acceptance: Floats
    tokens: Floats
    forests: Floats

    def parents(self, nodes: int, depth: int) -> tuple[int, ...]:
        """Returns the parents of the best tree of a size and largest depth, in order of levels."""
        depths, sizes = self.tokens.shape
        count = integer("nodes", nodes)
        deepest = integer("depth", depth)
        if deepest >= depths or count >= sizes or not np.isfinite(self.tokens[deepest, count]):
            raise ValueError(
                f"a tree of {nodes} nodes and depth {depth} must be one of those computed, up to "
                f"{sizes - 1} nodes and depth {depths - 1}"
            )
        parents: list[int] = []
        waiting = deque([(-1, count, deepest)])
        while waiting:
            parent, size, left = waiting.popleft()
            for share in self._shares(size, left):
                parents.append(parent)
                waiting.append((len(parents) - 1, share - 1, left - 1))
        return tuple(parents)

    def _shares(self, size: int, depth: int) -> list[int]:
        """Returns the nodes in each child's subtree, for a node with `size` nodes below it."""
        shares: list[int] = []
        while size > 0:
            rank = len(shares)
            rest = self.forests[depth, rank + 1]
            gains = _gains(_own(self.acceptance[rank], self.tokens[depth - 1]), rest, size)
            shares.append(int(gains.argmax()) + 1)
            size -= shares[-1]
        return shares


def best_trees(acceptance: ArrayLike, *, max_nodes: int, max_depth: int) -> BestTrees:
    """Returns the best trees by dynamic programming (Sequoia, section 3.1 and Proposition 3.2).

        F(n, d) = 1 + W_1(n, d),
        W_k(m, d) = max over 1 ≤ j ≤ m of a_k F(j - 1, d - 1) + W_{k+1}(m - j, d),  W_k(0, d) = 0

    F(n, d): expected tokens with n nodes and depth at most d. W_k(m, d): tokens that m nodes add in
    the subtrees of the k-th and later children, where the k-th child's subtree has j nodes.

    acceptance: see `tree_tokens`.
    """
    rates = checked_rates(acceptance)
    sizes = integer("max_nodes", max_nodes, at_least=1) + 1
    depths = integer("max_depth", max_depth, at_least=1) + 1
    tokens = np.full((depths, sizes), -np.inf)
    tokens[:, 0] = 1.0
    forests = np.full((depths, len(rates) + 1, sizes), -np.inf)
    forests[:, :, 0] = 0.0
    for depth in range(1, depths):
        subtree = tokens[depth - 1]
        for rank in reversed(range(len(rates))):
            gains, rest = _own(rates[rank], subtree), forests[depth, rank + 1]
            for size in range(1, sizes):
                forests[depth, rank, size] = _gains(gains, rest, size).max()
        tokens[depth] = 1.0 + forests[depth, 0]
    return BestTrees(rates, tokens, forests)


def _own(rate: float, subtree: Floats) -> Floats:
    """Returns the expected tokens of a child's subtree with 1, 2, … nodes; -inf if impossible."""
    there = np.isfinite(subtree)
    # A choice with acceptance 0 still needs an existing subtree: avoids 0 times -inf.
    return np.where(there, rate * np.where(there, subtree, 0.0), -np.inf)


def _gains(gains: Floats, rest: Floats, size: int) -> Floats:
    """Returns the expected tokens of `size` nodes if 1, …, `size` of them follow one child.

    gains, rest: expected tokens by size, of the child's subtree and of its later siblings' ones.
    """
    return gains[:size] + rest[size - 1 :: -1]
