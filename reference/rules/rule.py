"""The rule protocol: how likely a drafted token is kept, and what replaces a rejected one."""

from typing import Protocol

from torch import Tensor

from reference.laws.laws import Dense, Laws


class Rule(Protocol):
    """Judges drafted tokens and gives the law of a rejected token's replacement."""

    @property
    def name(self) -> str:
        """What reports call this rule."""

    @property
    def lossless(self) -> bool:
        """Whether the output law is the target's own."""

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        """Returns which tokens are accepted, shape (gamma,), bool; those before the first that
        is not stand.

        Args:
          p, q: the target's and the draft's laws at the drafted positions.
          tokens: shape (gamma,), int64.
          uniform: draws from [0, 1), shape (gamma,); none where p is one-hot.
        """

    def replacement(self, p: Dense, q: Laws, tokens: Tensor, place: Tensor) -> Dense:
        """Returns the law, not normalised, of what replaces the first token that does not stand.

        Args:
          p, q, tokens: as for `accepts`.
          place: that token's index, shape (1,), int64.
        """
