"""The drafter protocol, and the draft: tokens with the laws they were drawn from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from reference.laws.laws import Laws, OneHot
from reference.laws.sampling import Sampling
from reference.laws.scoring import Asked, Scores, Stretch
from reference.policies.policy import Policy


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens and the laws that generated them.

    tokens: shape (gamma,), int64, on the target's device; gamma may be 0.
    q: row i is the law that tokens[i] was drawn from, over the target's vocabulary.
    witness: of each law computed, finite where its logits were (`OneHot.witness`), shape (gamma,),
      or (gamma + 1,) where the policy refused to draw from the last; None where no model computed
      them. Read with the block's results, so that drafting need not wait.
    parents: of a draft that branches, which token each one follows, an earlier one, or -1: the
      text; None: each follows the one before it. In a draft that branches the children of one
      token differ. Its laws are one-hot, where it is chosen without chance, or each child's is the
      law that it was drawn from given the children before it.
    """

    tokens: Tensor
    q: Laws
    witness: Tensor | None = None
    parents: tuple[int, ...] | None = None


def no_draft(device: torch.device) -> Draft:
    """Returns a draft of no token."""
    none = torch.empty(0, dtype=torch.int64, device=device)
    return Draft(none, OneHot(none))


class Drafter(Protocol):
    """Proposes continuations of a text.

    At each call of `propose`, all of the text but its last token is a beginning of what the
    previous call saw and proposed: accepted tokens, then one that is the target's own. So what a
    drafter cached of the text before its last token is valid as far as it goes. (The text can
    also have become shorter: where the drafter serves a draft some of whose tokens the target
    rejected.)
    """

    @property
    def name(self) -> str:
        """What reports call this drafter, as a user would name it."""

    @property
    def sampling(self) -> Sampling | None:
        """Makes the laws that it draws from, as its user set it; None where nothing can be set."""

    @property
    def forward_seconds(self) -> float:
        """Seconds spent computing laws so far: a model's forward passes, a table's look-ups."""

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        """Begins a new text.

        Args:
          text: what the target made of them (the same for a decoder-only model).

        Raises:
          ValueError: before any pass, if it cannot draft for this prompt.
        """

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        """Returns up to `limit` tokens after text, fewer where the policy or the drafter stops.

        A token once drawn is part of the draft.
        """

    def score(self, stretch: Stretch, asked: Asked) -> list[Scores]:
        """Returns how likely each token of a stretch would have been accepted, had it been drafted.

        Called after `start`, for consecutive stretches of one text, each of which a model scores
        in one parallel pass.

        Returns:
          one for each sampling; all alike where nothing can be set.
        """


@runtime_checkable
class ReadsStates(Protocol):
    """A drafter that reads states which the target's pass over the prompt leaves."""

    def read_prompt(self, text: Sequence[int]) -> None:
        """Reads them: after `start`, once the target has read the text but its last token."""
