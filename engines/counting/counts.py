"""What an engine counts of its drafts: the same few numbers, whatever it calls them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters of blocks that drafted.

    drafts: such blocks.
    drafted: tokens drafted in them.
    accepted: blocks of which positions 1, 2, … were accepted, unconditional: none above the one
      before it.
    """

    drafts: int
    drafted: int
    accepted: tuple[int, ...]

    @property
    def accepted_tokens(self) -> int:
        """Drafted tokens that were accepted."""
        return sum(self.accepted)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.drafts + other.drafts,
            self.drafted + other.drafted,
            tuple(a + b for a, b in zip_longest(self.accepted, other.accepted, fillvalue=0)),
        )

    def since(self, earlier: Counts) -> Counts:
        """Returns what was counted after `earlier`.

        Raises:
          ValueError: if a counter fell, as they do where a server starts anew.
        """
        pairs = list(zip_longest(self.accepted, earlier.accepted, fillvalue=0))
        difference = Counts(
            self.drafts - earlier.drafts,
            self.drafted - earlier.drafted,
            tuple(now - before for now, before in pairs),
        )
        if min(difference.drafts, difference.drafted, *difference.accepted, 0) < 0:
            raise ValueError(
                "counters must not fall between two readings, got fewer "
                f"drafts or tokens ({earlier.drafts}, then {self.drafts}): the server was restarted"
            )
        return difference


NOTHING = Counts(0, 0, ())
