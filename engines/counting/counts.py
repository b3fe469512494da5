"""What an engine counts of its drafts: the same few numbers, whatever it calls them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from operator import add, sub
from typing import Self


@dataclass(frozen=True)
class Counts:
    """Counters of blocks that drafted.

    drafts, drafted, accepted: such blocks, tokens drafted in them, those that were accepted.
    by_position: blocks of which positions 1, 2, … were accepted, unconditional, as far as they are
      listed; empty: not told.
    """

    drafts: int
    drafted: int
    accepted: int
    by_position: tuple[int, ...] = ()

    @classmethod
    def of(cls, drafts: int, drafted: int, by_position: Sequence[int]) -> Counts:
        """Returns counters whose accepted tokens are those of their positions."""
        return Counts(drafts, drafted, sum(by_position), tuple(by_position))

    def up_to(self, gamma: int) -> tuple[int, ...]:
        """Returns the blocks of which positions 1 to γ were accepted, 0 where none is listed."""
        return (*self.by_position, *(0,) * gamma)[:gamma]

    def __add__(self, other: Self) -> Self:
        """Returns the counts of both together; positions if both tell them."""
        return self._combined(other, add)

    def since(self, earlier: Self) -> Self:
        """Returns what was counted after `earlier`; positions if both tell them.

        Raises:
          ValueError: if a counter fell, as they do where a server starts anew.
        """
        if any(now < before for now, before in self._beside(earlier)):
            raise restarted(earlier, self)
        return self._combined(earlier, sub)

    def _beside(self, other: Counts) -> list[tuple[int, int]]:
        """Returns each counter with another's."""
        told = all(each.by_position or each.accepted == 0 for each in (self, other))
        positions = zip_longest(self.by_position, other.by_position, fillvalue=0)
        return [
            (self.drafts, other.drafts),
            (self.drafted, other.drafted),
            (self.accepted, other.accepted),
            *(positions if told else ()),
        ]

    def _combined(self, other: Self, combine: Callable[[int, int], int]) -> Self:
        drafts, drafted, accepted, *rest = (combine(*pair) for pair in self._beside(other))
        return replace(
            self, drafts=drafts, drafted=drafted, accepted=accepted, by_position=tuple(rest)
        )


NOTHING = Counts(0, 0, 0)


def restarted(earlier: Counts, later: Counts) -> ValueError:
    """Returns the refusal of readings between which a server was restarted."""
    return ValueError(
        "counters must not fall or begin anew between two readings, got "
        f"{earlier.drafts} drafts, then {later.drafts}: the server was restarted"
    )
