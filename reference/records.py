"""What decoding returns: raw counts, ids and times; ratios are properties."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """One block: what was drafted, what it emitted, where the time went.

    gamma: the most tokens the policy let this block draft, cut to what could still be emitted.
    tokens: the emitted ids, 1..gamma+1 of them: accepted ones, then the target's own unless an
      accepted one ended the text.
    accepted: how many of tokens were drafted.
    draft_seconds, verify_seconds: inside the drafter's and the target's forward passes.
    other_seconds: everything else.
    ending: why the text ends with this block: "length", "end of text" or "stop string"; None if
      it goes on.
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
        """Calls of the target."""
        return 1

    @property
    def draft_calls(self) -> int:
        """Laws that were asked of the drafter."""
        return len(self.drafted)

    @property
    def replaced(self) -> bool:
        """Whether the target's own token stands where a drafted one did not."""
        return self.accepted < min(len(self.drafted), len(self.tokens))

    @property
    def seconds(self) -> float:
        """The block's whole time."""
        return self.draft_seconds + self.verify_seconds + self.other_seconds


@dataclass(frozen=True, slots=True)
class Generation:
    """One decoded text.

    text: the ids that decoding continued (the prompt, or a decoder's start token).
    blocks: every target call, in order; the prompt's own pass is not one.
    prefill_seconds: the prompt's passes through target and drafter.
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
        """Target calls, prefill not counted."""
        return sum(block.target_calls for block in self.blocks)

    @property
    def draft_calls(self) -> int:
        """Laws that were asked of the drafter."""
        return sum(block.draft_calls for block in self.blocks)

    @property
    def drafted(self) -> int:
        """Proposed tokens."""
        return sum(len(block.drafted) for block in self.blocks)

    @property
    def accepted(self) -> int:
        """Emitted tokens that were drafted."""
        return sum(block.accepted for block in self.blocks)

    @property
    def rollbacks(self) -> int:
        """Target calls that replaced a drafted token."""
        return sum(block.replaced for block in self.blocks)

    @property
    def discarded(self) -> int:
        """Drafted tokens that were not emitted."""
        return self.drafted - self.accepted

    @property
    def block_efficiency(self) -> float:
        """Emitted tokens per block, which is one target call."""
        return len(self.tokens) / len(self.blocks)

    @property
    def accepted_fraction(self) -> float | None:
        """Accepted over drafted tokens, which is not alpha; None if nothing was drafted."""
        return self.accepted / self.drafted if self.drafted > 0 else None

    @property
    def draft_seconds(self) -> float:
        """Seconds in the drafter's forward passes, prefill apart."""
        return sum(block.draft_seconds for block in self.blocks)

    @property
    def verify_seconds(self) -> float:
        """Seconds in the target's forward passes, prefill apart."""
        return sum(block.verify_seconds for block in self.blocks)

    @property
    def other_seconds(self) -> float:
        """Seconds outside the models' forward passes."""
        return sum(block.other_seconds for block in self.blocks)

    @property
    def decode_seconds(self) -> float:
        """Seconds of decoding, prefill apart."""
        return sum(block.seconds for block in self.blocks)
