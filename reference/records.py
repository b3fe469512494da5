"""The results of decoding (ids, counts and times), and when a text ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """One block: a draft, one target call and the tokens that were emitted.

    gamma: largest number of tokens to draft: the policy's limit, or fewer near the text's end.
    drafted: the proposed ids.
    tokens: 1 to gamma + 1 emitted ids: the accepted ones, then the target's own token, unless an
      accepted token ended the text.
    accepted: number of drafted ids among `tokens`.
    draft_seconds, verify_seconds, other_seconds: time inside the drafter's forward passes, inside
      the target's, and outside both.
    ending: why the text ends with this block ("length", "end of text" or "stop string"); None if
      it continues.
    """

    gamma: int
    drafted: tuple[int, ...]
    tokens: tuple[int, ...]
    accepted: int
    draft_seconds: float
    verify_seconds: float
    other_seconds: float
    ending: str | None

    @property
    def target_calls(self) -> int:
        return 1

    @property
    def draft_calls(self) -> int:
        return len(self.drafted)

    @property
    def seconds(self) -> float:
        return self.draft_seconds + self.verify_seconds + self.other_seconds


@dataclass(frozen=True, slots=True)
class Generation:
    """One decoded text.

    text: the ids that decoding continued (the prompt, or a decoder's start token).
    blocks: the blocks after the prompt's pass.
    prefill_seconds: time of the prompt's passes in target and drafter.
    """

    text: tuple[int, ...]
    blocks: tuple[Block, ...]
    prefill_seconds: float

    @property
    def tokens(self) -> tuple[int, ...]:
        """The emitted ids."""
        return tuple(token for block in self.blocks for token in block.tokens)

    @property
    def ending(self) -> str | None:
        """Why the text ended: "length", "end of text" or "stop string"."""
        return self.blocks[-1].ending

    @property
    def target_calls(self) -> int:
        return sum(block.target_calls for block in self.blocks)

    @property
    def draft_calls(self) -> int:
        """Number of calls of the drafter: one for each drafted token."""
        return sum(block.draft_calls for block in self.blocks)

    @property
    def drafted(self) -> int:
        return sum(len(block.drafted) for block in self.blocks)

    @property
    def accepted(self) -> int:
        """Number of drafted tokens that were accepted and emitted."""
        return sum(block.accepted for block in self.blocks)

    @property
    def rollbacks(self) -> int:
        """Number of target calls that rejected a drafted token and emitted another in its place."""
        drafts = [(block, min(len(block.drafted), len(block.tokens))) for block in self.blocks]
        return sum(block.accepted < judged for block, judged in drafts)

    @property
    def discarded(self) -> int:
        """Number of drafted tokens that were not emitted."""
        return self.drafted - self.accepted

    @property
    def block_efficiency(self) -> float:
        """Mean emitted tokens per block; a block is one target call."""
        return len(self.tokens) / len(self.blocks)

    @property
    def accepted_fraction(self) -> float | None:
        """Accepted over drafted tokens, which is not alpha; None if nothing was drafted."""
        return self.accepted / self.drafted if self.drafted > 0 else None

    @property
    def draft_seconds(self) -> float:
        return sum(block.draft_seconds for block in self.blocks)

    @property
    def verify_seconds(self) -> float:
        return sum(block.verify_seconds for block in self.blocks)

    @property
    def other_seconds(self) -> float:
        return sum(block.other_seconds for block in self.blocks)

    @property
    def decode_seconds(self) -> float:
        """Seconds of decoding, without the prompt's passes."""
        return sum(block.seconds for block in self.blocks)


@dataclass(frozen=True, slots=True)
class StopStrings:
    """Strings that end a text as soon as a token outside the prompt completes one of them.

    As with transformers' `stop_strings`, the text includes the string and the whole token that
    completed it.
    """

    strings: tuple[str, ...]
    decode: Callable[[Sequence[int]], str]

    def __post_init__(self) -> None:
        if not self.strings:
            raise ValueError("stop strings must be at least one, got none")
        if "" in self.strings:
            raise ValueError("a stop string must have at least one character, got ''")

    def completed(self, text: Sequence[int], tokens: Sequence[int]) -> int | None:
        """Returns the first index in `tokens` that completes a string after `text`, or None."""
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

    max_new_tokens: most emitted tokens, at least 1.
    end_ids: end-of-text ids; the text ends with the first one emitted.
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
        """Returns which of a block's tokens to emit, and why the text ends (None: it goes on).

        text: all ids before the tokens, prompt included.
        emitted: number of ids in `text` that decoding has emitted.
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
