"""When to stop drafting: gamma policies (Leviathan et al. 2023, section 3.5).

Whether position i is drafted may depend on the text before i and on the law q_i, never on an
acceptance draw, and a token once drawn is submitted. So no policy changes the output law.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from reference.laws import Laws
from reference.records import Block


class Policy(Protocol):
    """Decides how many tokens each block drafts."""

    @property
    def name(self) -> str:
        """What reports call this policy."""

    def gamma(self, blocks: Sequence[Block]) -> int:
        """Returns the most tokens that the next block drafts, given the text's blocks so far."""

    def goes_on(self, token: Tensor, q: Laws) -> bool:
        """Returns whether to draft another position after `token`, shape (1,), drawn from q."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same gamma for every block; 0 never drafts."""

    value: int

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError(f"gamma must be at least 0, got {self.value}")

    @property
    def name(self) -> str:
        return "fixed"

    def gamma(self, blocks: Sequence[Block]) -> int:
        return self.value

    def goes_on(self, token: Tensor, q: Laws) -> bool:
        return True
