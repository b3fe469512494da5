"""Drafts that branch: what a tree yields, and the best tree of n tokens for given costs.

Sequoia (Chen et al. 2024), section 3.1: with a_k the probability that the target's token is the
draft's k-th choice after a token that stands (acceptance by rank), a node whose path has the ranks
k_1, …, k_d stands with probability a_{k_1} … a_{k_d}, and a tree yields

    F(T) = 1 + Σ over nodes of Π of the acceptances along its path

tokens a call, the target's own included: their positional acceptance assumption. A tree is given
by its parents: which earlier node each one follows, -1 the text; the children of one node are its
first, second, … choices in the order in which they stand. A chain of γ is -1, 0, …, γ-2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.numerics.arguments import integer, integers, probability

# What rounding may add to acceptances that are shares of one whole.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree: how many tokens lead to it, itself included, and which choice it is.

    depth: at least 1.
    rank: from 0, the likeliest.
    """

    depth: int
    rank: int


def nodes_of(parents: Sequence[int]) -> list[Node]:
    """Returns the nodes of a tree.

    Raises:
      ValueError: if a parent is neither -1 nor an earlier node.
    """
    nodes: list[Node] = []
    children: dict[int, int] = {}
    for place, parent in enumerate(integers("parents", parents, at_least=-1).tolist()):
        if parent >= place:
            raise ValueError(f"parents must be earlier nodes or -1, got {parent} for node {place}")
        depth = 1 if parent < 0 else nodes[parent].depth + 1
        nodes.append(Node(depth, children.get(parent, 0)))
        children[parent] = nodes[-1].rank + 1
    return nodes


def chain(gamma: int) -> tuple[int, ...]:
    """Returns the parents of a draft that does not branch."""
    return tuple(range(-1, integer("gamma", gamma) - 1))


def tree_tokens(parents: Sequence[int], acceptance: ArrayLike) -> float:
    """Returns F(T), the expected tokens of a call.

    Args:
      parents: of a tree.
      acceptance: a_1, a_2, …: by rank, at least 0, of sum at most 1; beyond the last 0.

    Raises:
      ValueError: if an argument is out of range.
    """
    rates = _rates(acceptance)
    total = 1.0
    stands: list[float] = []
    for node, parent in zip(nodes_of(parents), parents, strict=True):
        before = 1.0 if parent < 0 else stands[parent]
        stands.append(before * (rates[node.rank] if node.rank < len(rates) else 0.0))
        total += stands[-1]
    return float(total)


@dataclass(frozen=True, slots=True)
class BestTrees:
    """The best tree of each size and greatest depth (`best_trees`).

    acceptance: by rank.
    tokens: F, shape (depths + 1, nodes + 1): entry (d, n) of the best tree of n nodes, none of
      them deeper than d. Depth 0 has no node: -inf but for n = 0.
    forests: W_1, W_2, … and W after the last rank, shape (depths + 1, ranks + 1, nodes + 1).
    """

    acceptance: NDArray[np.float64]
    tokens: NDArray[np.float64]
    forests: NDArray[np.float64]

    def parents(self, nodes: int, depth: int) -> tuple[int, ...]:
        """Returns a best tree of that size and depth, level by level.

        Raises:
          ValueError: if there is none, or it was not computed.
        """
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
        """Returns how many nodes the subtrees of a node's children have, themselves included."""
        shares: list[int] = []
        while size > 0:
            rank = len(shares)
            rest = self.forests[depth, rank + 1]
            gains = _gains(self.acceptance[rank], self.tokens[depth - 1], rest, size)
            shares.append(int(gains.argmax()) + 1)
            size -= shares[-1]
        return shares


def best_trees(acceptance: ArrayLike, *, max_nodes: int, max_depth: int) -> BestTrees:
    """Returns the best trees by dynamic programming (Sequoia, section 3.1 and Proposition 3.2).

        F(n, d) = 1 + W_1(n, d),
        W_k(m, d) = max over 1 ≤ j ≤ m of a_k F(j - 1, d - 1) + W_{k+1}(m - j, d),  W_k(0, d) = 0

    where the k-th child has a subtree of j nodes, and there is no child after one that is missing.

    Args:
      acceptance: a_1, a_2, …, by rank, at least 0, of sum at most 1; the draft has no further
        choices.
      max_nodes: at least 1.
      max_depth: at least 1.

    Raises:
      ValueError: if an argument is out of range.
    """
    rates = _rates(acceptance)
    sizes = integer("max_nodes", max_nodes, at_least=1) + 1
    depths = integer("max_depth", max_depth, at_least=1) + 1
    tokens = np.full((depths, sizes), -np.inf)
    tokens[:, 0] = 1.0
    forests = np.full((depths, len(rates) + 1, sizes), -np.inf)
    forests[:, :, 0] = 0.0
    for depth in range(1, depths):
        subtree = tokens[depth - 1]
        for rank in reversed(range(len(rates))):
            for size in range(1, sizes):
                gains = _gains(rates[rank], subtree, forests[depth, rank + 1], size)
                forests[depth, rank, size] = gains.max()
        tokens[depth] = 1.0 + forests[depth, 0]
    return BestTrees(rates, tokens, forests)


def _gains(
    rate: float, subtree: NDArray[np.float64], rest: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Returns what `size` nodes yield where this child's subtree has 1, …, size of them."""
    below = subtree[:size]
    # A choice that never stands still needs a subtree that there is: not 0 times -inf.
    own = np.where(np.isfinite(below), rate * np.where(np.isfinite(below), below, 0.0), -np.inf)
    return np.asarray(own + rest[size - 1 :: -1][:size])


def tree_calls(
    ranks: ArrayLike, parents: Sequence[int], *, limit: int | None = None
) -> NDArray[np.int64]:
    """Returns how many tokens each call yields where a tree of likeliest choices meets a text.

    The text tells every acceptance, whatever the temperature: a child stands where it is the
    text's own token, so a call goes on as far as the text's ranks are a path of the tree.

    Args:
      ranks: which of the draft's choices the text's token is, from 0, shape (N,).
      parents: of the tree.
      limit: the decoder's max_new_tokens, at least N; without it N.

    Returns:
      shape (calls,), of sum N. Its tree is cut to what can still be emitted beside the target's.

    Raises:
      ValueError: if an argument is out of range.
    """
    text = integers("ranks", ranks)
    end = len(text) if limit is None else integer("limit", limit, at_least=1)
    if end < len(text):
        raise ValueError(f"limit must be at least the text's {len(text)} positions, got {end}")
    follows = {
        (parent, node.rank): place
        for place, (node, parent) in enumerate(zip(nodes_of(parents), parents, strict=True))
    }
    calls = []
    start = 0
    while start < len(text):
        node, length = -1, 0
        room = min(end - start - 1, len(text) - start)
        while length < room and (node, int(text[start + length])) in follows:
            node = follows[node, int(text[start + length])]
            length += 1
        calls.append(min(length + 1, len(text) - start))
        start += calls[-1]
    return np.array(calls, dtype=np.int64)


def _rates(acceptance: ArrayLike) -> NDArray[np.float64]:
    rates = np.atleast_1d(probability("acceptance", acceptance))
    if rates.ndim != 1 or not len(rates) or rates.sum() > 1 + _ROUNDING:
        raise ValueError(
            "acceptance must be rates by rank whose sum is at most 1, got "
            f"{len(np.ravel(rates))} of sum {rates.sum():g}"
        )
    return rates
