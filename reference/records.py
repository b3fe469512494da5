"""The results of decoding: ids, counts and times."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """One block: a draft, one target call and the tokens that were emitted.

    gamma: most tokens that the block may draft: the policy's limit, or less at the text's end.
    drafted: the proposed ids.
    tokens: 1 to gamma + 1 emitted ids: the accepted ones, then the target's own token, unless an
      accepted token ended the text.
    accepted: number of drafted ids among `tokens`.
    draft_seconds, verify_seconds: time inside the drafter's and the target's forward passes.
    other_seconds: the rest of the block's time.
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
    def replaced(self) -> bool:
        """Whether the target's token replaced a drafted one."""
        return self.accepted < min(len(self.drafted), len(self.tokens))

    @property
    def seconds(self) -> float:
        return self.draft_seconds + self.verify_seconds + self.other_seconds


@dataclass(frozen=True, slots=True)
class Generation:
    """One decoded text.

    text: the ids that decoding continued (the prompt, or a decoder's start token).
    blocks: the blocks in order; the prompt's pass is not among them.
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
        """Number of distributions that the drafter computed."""
        return sum(block.draft_calls for block in self.blocks)

    @property
    def drafted(self) -> int:
        return sum(len(block.drafted) for block in self.blocks)

    @property
    def accepted(self) -> int:
        """Number of emitted tokens that were drafted."""
        return sum(block.accepted for block in self.blocks)

    @property
    def rollbacks(self) -> int:
        """Number of target calls that replaced a drafted token."""
        return sum(block.replaced for block in self.blocks)

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
