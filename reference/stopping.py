"""When a text ends: end-of-text ids and the most tokens to emit."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stopping:
    """The conditions that end a text.

    max_new_tokens: at least 1; never overshot.
    end_ids: end-of-text ids; the text ends with the first of them emitted.
    """

    max_new_tokens: int
    end_ids: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1, got {self.max_new_tokens}")

    def cut(self, emitted: int, tokens: Sequence[int]) -> tuple[list[int], str | None]:
        """Returns what of `tokens` is emitted, and why the text ends there (None: it goes on).

        Args:
          emitted: how many tokens were emitted before these.
          tokens: the block's candidates, at least 1.
        """
        kept = list(tokens[: self.max_new_tokens - emitted])
        for index, token in enumerate(kept):
            if token in self.end_ids:
                return kept[: index + 1], "end of text"
        return kept, "length" if emitted + len(kept) == self.max_new_tokens else None
