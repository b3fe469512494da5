"""What a tree asks of the drafter that it shapes: laws after several continuations of one text."""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from reference.drafter import Drafter
from reference.laws.sampling import Sampling


class Branching(Drafter, Protocol):
    """A drafter that can go on from several of its tokens at once."""

    @property
    def sampling(self) -> Sampling:
        """Makes the laws that it draws from."""

    @property
    def vocabulary(self) -> int:
        """The width of its laws."""

    @property
    def most_nodes(self) -> int | None:
        """How many tokens a tree may have; None: any number."""

    def require_trees(self) -> None:
        """Refuses a drafter that does not read a tree as it reads each of its paths.

        Raises:
          ValueError: naming it.
        """

    def begin_tree(self, text: Sequence[int], depth: int) -> tuple[int, Tensor] | None:
        """Returns how deep a tree may be, and the logits after a text, shape (1, vocabulary).

        None where it has nothing to draft from, or no room.

        Args:
          text: as `Drafter.propose` gets it; to be called of every block, whatever the depth.
        """

    def deepen(
        self, text: Sequence[int], tokens: Tensor, parents: Sequence[int], places: Sequence[int]
    ) -> Tensor:
        """Returns the logits after the tokens of one level that go on, shape (places, vocabulary).

        Args:
          tokens: of the tree so far, shape (n,), int64.
          parents: which earlier token each one follows, -1 the text.
          places: of the tokens, all on the level below the one last asked for.
        """


def line(place: int, parents: Sequence[int]) -> list[int]:
    """Returns a token of a tree and all above it, the lowest first."""
    above = []
    while place >= 0:
        above.append(place)
        place = parents[place]
    return above
