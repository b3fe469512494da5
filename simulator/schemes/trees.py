"""Drafts that branch: a tree's expected tokens, and the passes that draft it.

    F(T) = 1 + Σ over nodes of Π of the acceptances a_k along the node's path

is the number of tokens per call, the target's own included (Sequoia, Chen et al. 2024, section
3.1). Acceptance a_k is the probability that the target's token is the draft's k-th choice after an
accepted token. A tree lists for each node its parent: an earlier node, or -1 for the text. A node's
children are its first, second, … choices in order. A chain of γ is -1, 0, …, γ-2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance, Kind, Price
from simulator.numerics.arguments import integer, integers, probability

# Trees by the number of their nodes.
Shapes = Mapping[int, tuple[int, ...]]

# Rounding error allowed in the sum of acceptances, which is at most 1.
_ROUNDING = 1e-9


def depths_and_ranks(parents: Sequence[int]) -> tuple[list[int], list[int]]:
    """Returns each node's depth and rank; raises ValueError if a parent is no earlier node or -1.

    Returns:
      depths: number of drafted tokens on a node's path, itself included.
      ranks: position among its parent's choices; 0 is the most likely.
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
    """Returns F(T), the expected tokens per call.

    parents: parent of each node of a tree.
    acceptance: a_1, a_2, …, each at least 0, with a sum of at most 1; later ranks have 0.
    """
    rates = checked_rates(acceptance)
    total = 1.0
    accepted: list[float] = []
    for rank, parent in zip(depths_and_ranks(parents)[1], parents, strict=True):
        before = 1.0 if parent < 0 else accepted[parent]
        accepted.append(before * (rates[rank] if rank < len(rates) else 0.0))
        total += accepted[-1]
    return float(total)


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
    """Acceptance of trees of likeliest choices; γ is the number of nodes.

        E[τ(γ)] = F(the tree of γ nodes)      (Sequoia, section 3.1)

    For γ above the largest tree, the largest tree is drafted. Texts are long.

    rates: a_1, a_2, …, each at least 0, with a sum of at most 1.
    shapes: parents of each tree, by number of nodes.
    """

    rates: tuple[float, ...]
    shapes: Shapes
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
    def kind(self) -> Kind:
        return "tree"

    @property
    def alpha(self) -> float:
        """Acceptance rate of the draft's first choice."""
        return self.rates[0]

    @property
    def observed_gamma(self) -> int | None:
        return None

    def per_token(self, price: Price, gamma: ArrayLike) -> NDArray[np.float64]:
        nodes = np.minimum(integers("gamma", gamma), max(self._tokens))
        missing = set(nodes.ravel().tolist()) - set(self._tokens)
        if missing:
            raise ValueError(f"shapes must have a tree of {min(missing)} nodes, got none")
        tokens = np.array([self._tokens[each] for each in nodes.ravel().tolist()])
        return np.asarray(price(nodes) / tokens.reshape(nodes.shape))[()]


def checked_rates(acceptance: ArrayLike) -> NDArray[np.float64]:
    """Returns acceptance rates by rank as an array; raises ValueError if they are out of range."""
    rates = np.atleast_1d(probability("acceptance", acceptance))
    if rates.ndim != 1 or not len(rates) or rates.sum() > 1 + _ROUNDING:
        raise ValueError(
            "acceptance must be rates by rank whose sum is at most 1, got "
            f"{len(np.ravel(rates))} of sum {rates.sum():g}"
        )
    return rates
