"""The drafter that a tree needs: it gives distributions after several continuations of a text."""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from reference.drafter import Drafter
from reference.laws.sampling import Sampling


class Branching(Drafter, Protocol):
    """A drafter that can continue from several of its tokens at once."""

    @property
    def sampling(self) -> Sampling:
        """The settings that turn the drafter's logits into distributions."""

    @property
    def vocabulary(self) -> int:
        """Width of a row of logits."""

    @property
    def most_nodes(self) -> int | None:
        """The most tokens that a tree may have; None: no limit."""

    def require_trees(self) -> None:
        """Refuses a drafter that reads a tree differently from its single paths."""

    def begin_tree(self, text: Sequence[int], depth: int) -> tuple[int, Tensor] | None:
        """Returns the greatest depth of a tree, and the logits after a text, shape (1, vocabulary).

        None if there is nothing to draft from, or no position left.

        Args:
          text: the ids so far. Called for each block, even with depth 0.
        """

    def deepen(
        self, text: Sequence[int], tokens: Tensor, parents: Sequence[int], places: Sequence[int]
    ) -> Tensor:
        """Returns logits after some tokens of the lowest level, shape (places, vocabulary).

        Args:
          tokens: the tree's tokens so far, shape (n,), int64.
          parents: for each token, the index of the token that it follows; -1: the text.
          places: indices of the tokens to continue, all on the level below the previous call's.
        """


def line(place: int, parents: Sequence[int]) -> list[int]:
    """Returns the indices of a tree's token and all its ancestors, lowest first."""
    above = []
    while place >= 0:
        above.append(place)
        place = parents[place]
    return above
