"""When a text ends: end-of-text ids, stop strings, and the limit of new tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StopStrings:
    """Strings that end a text as soon as a token completes one of them.

    Like transformers' `stop_strings`: the text includes the string and the whole token that
    completed it. The string may begin in the prompt, but a string inside the prompt ends nothing.

    strings: at least one, none empty.
    decode: returns the text of ids.
    """

    strings: tuple[str, ...]
    decode: Callable[[Sequence[int]], str]

    def __post_init__(self) -> None:
        if not self.strings:
            raise ValueError("stop strings must be at least one, got none")
        if "" in self.strings:
            raise ValueError("a stop string must have at least one character, got ''")

    def completed(self, text: Sequence[int], tokens: Sequence[int]) -> int | None:
        """Returns the index of the first of `tokens` (they follow `text`) to complete a string."""
        # No token is shorter than a byte, so a string of n bytes began at most n - 1 tokens ago.
        # One more token is decoded because a decoder may change the first one.
        window = max(len(string.encode()) for string in self.strings)
        ids = list(text[max(len(text) - window, 0) :])
        before = self.decode(ids)
        for index, token in enumerate(tokens):
            ids.append(token)
            now = self.decode(ids)
            places = ((string, now.rfind(string)) for string in self.strings)
            if any(at >= 0 and not before.startswith(string, at) for string, at in places):
                return index
            before = now
        return None


@dataclass(frozen=True, slots=True)
class Stopping:
    """The conditions that end a text.

    max_new_tokens: at least 1; never exceeded.
    end_ids: end-of-text ids; the text ends with the first one emitted.
    stop_strings: strings that end the text; None for none.
    """

    max_new_tokens: int
    end_ids: frozenset[int] = frozenset()
    stop_strings: StopStrings | None = None

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1, got {self.max_new_tokens}")

    def cut(
        self, text: Sequence[int], tokens: Sequence[int], *, emitted: int
    ) -> tuple[list[int], str | None]:
        """Returns the tokens to emit, and why the text ends there (None: it continues).

        Args:
          text: the ids before the tokens, the prompt's included.
          tokens: the block's candidates, at least 1.
          emitted: how many ids of text are new.
        """
        kept = list(tokens[: self.max_new_tokens - emitted])
        ending = "length" if emitted + len(kept) == self.max_new_tokens else None
        ended = next((at for at, token in enumerate(kept) if token in self.end_ids), None)
        if ended is not None:
            kept, ending = kept[: ended + 1], "end of text"
        if self.stop_strings is not None:
            stopped = self.stop_strings.completed(text, kept)
            if stopped is not None and (stopped + 1 < len(kept) or ending != "end of text"):
                kept, ending = kept[: stopped + 1], "stop string"
        return kept, ending
