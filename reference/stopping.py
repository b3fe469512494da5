"""When a text ends: end-of-text ids, stop strings and the most tokens to emit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StopStrings:
    """Strings that end a text as soon as a token completes one of them.

    As transformers' `stop_strings`: the text keeps the string and all of the token that completed
    it, whatever else that token holds; the string may begin in the prompt, but one that lies in
    the prompt ends nothing.

    strings: at least one, none empty.
    decode: the text of ids.

    Raises:
      ValueError: if there is no string, or an empty one.
    """

    strings: tuple[str, ...]
    decode: Callable[[Sequence[int]], str]

    def __post_init__(self) -> None:
        if not self.strings:
            raise ValueError("stop strings must be at least one, got none")
        if "" in self.strings:
            raise ValueError("a stop string must have at least one character, got ''")

    def completed(self, text: Sequence[int], tokens: Sequence[int]) -> int | None:
        """Returns the index of the first of tokens, which follow text, that completes a string."""
        # No token is shorter than a byte, so a string of n bytes began at most n - 1 tokens ago.
        # One more shields it from what a decoder may do to the first of its tokens.
        window = max(len(string.encode()) for string in self.strings)
        ids = list(text[max(len(text) - window, 0) :])
        before = self.decode(ids)
        for index, token in enumerate(tokens):
            ids.append(token)
            now = self.decode(ids)
            for string in self.strings:
                at = now.rfind(string)
                if at >= 0 and not before.startswith(string, at):
                    return index
            before = now
        return None


@dataclass(frozen=True, slots=True)
class Stopping:
    """The conditions that end a text.

    max_new_tokens: at least 1; never overshot.
    end_ids: end-of-text ids; the text ends with the first of them emitted.
    stop_strings: None: no strings end it.

    Raises:
      ValueError: if max_new_tokens is below 1.
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
        """Returns what of `tokens` is emitted, and why the text ends there (None: it goes on).

        Args:
          text: the ids before these, the given ones included.
          tokens: the block's candidates, at least 1.
          emitted: how many ids of text were not given.
        """
        kept = list(tokens[: self.max_new_tokens - emitted])
        ending = "length" if emitted + len(kept) == self.max_new_tokens else None
        for index, token in enumerate(kept):
            if token in self.end_ids:
                kept, ending = kept[: index + 1], "end of text"
                break
        if self.stop_strings is not None:
            stopped = self.stop_strings.completed(text, kept)
            if stopped is not None and (stopped + 1 < len(kept) or ending != "end of text"):
                kept, ending = kept[: stopped + 1], "stop string"
        return kept, ending
