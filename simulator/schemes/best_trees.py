"""The trees with the most expected tokens, by size and depth (Sequoia, section 3.1)."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import integer
from simulator.schemes.trees import checked_rates


@dataclass(frozen=True, slots=True)
class BestTrees:
    """The best tree of each size and depth, found by `best_trees`.

    acceptance: acceptance rates by rank.
    tokens: F, shape (depths + 1, nodes + 1); entry (d, n) belongs to the best tree with n nodes and
      depth at most d; -inf if there is none.
    forests: W_1, W_2, … and W after the last rank, shape (depths + 1, ranks + 1, nodes + 1).
    """

    acceptance: NDArray[np.float64]
    tokens: NDArray[np.float64]
    forests: NDArray[np.float64]

    def parents(self, nodes: int, depth: int) -> tuple[int, ...]:
        """Returns the parents of the best tree with a size and depth, level by level."""
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
        """Returns the sizes of the subtrees under a node, one for each child."""
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

    where the k-th child's subtree has j nodes.

    acceptance: a_1, a_2, …, by rank, each at least 0, with a sum of at most 1.
    max_nodes, max_depth: largest size and depth, at least 1.
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
            own, rest = _own(rates[rank], subtree), forests[depth, rank + 1]
            for size in range(1, sizes):
                forests[depth, rank, size] = _gains(own, rest, size).max()
        tokens[depth] = 1.0 + forests[depth, 0]
    return BestTrees(rates, tokens, forests)


def _own(rate: float, subtree: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the expected tokens of a child's subtree with 1, 2, … nodes; -inf if impossible."""
    there = np.isfinite(subtree)
    # A choice with acceptance 0 still needs an existing subtree: avoids 0 times -inf.
    return np.where(there, rate * np.where(there, subtree, 0.0), -np.inf)


def _gains(own: NDArray[np.float64], rest: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Returns the expected tokens of `size` nodes, 1, …, size of them in one child's subtree.

    own, rest: expected tokens of the child's subtree and of its later siblings' subtrees, by size.
    """
    return own[:size] + rest[size - 1 :: -1]
