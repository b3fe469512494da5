"""The drafter protocol, and the draft: tokens with the distributions they were drawn from."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from reference.laws.laws import Laws, OneHot
from reference.laws.sampling import Sampling
from reference.laws.scoring import ScoreOptions, Scores, Stretch
from reference.models.model import Model
from reference.policies.policy import Policy


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens and the distributions that generated them.

    tokens: shape (gamma,), int64, on the target's device; gamma may be 0.
    q: row i is the distribution that tokens[i] was drawn from, over the target's vocabulary.
    witness: one number per computed distribution, finite exactly where the model's logits were
      (`OneHot.witness`). Shape (gamma,), or (gamma + 1,) if the policy refused to draw from the
      last distribution. None if no model computed them. Checked with the block's results, so that
      drafting does not wait for the device.
    parents: for a draft that branches, the index of the token that each token follows, -1 for the
      text. None: each token follows the previous one. The children of one token differ. The rows of
      q are one-hot if the draft was chosen without randomness; else a child's row is the
      distribution that it was drawn from, given the children before it.
    """

    tokens: Tensor
    q: Laws
    witness: Tensor | None = None
    parents: tuple[int, ...] | None = None


def no_draft(device: torch.device) -> Draft:
    """Returns a draft without tokens."""
    none = torch.empty(0, dtype=torch.int64, device=device)
    return Draft(none, OneHot(none))


class Drafter(Protocol):
    """Proposes continuations of a text.

    From one call of `propose` to the next, the text keeps a prefix of the earlier text and draft
    (the accepted tokens) and gains one token of the target. So a drafter's cache of the text
    without its last token stays valid up to that prefix. (The text can also become shorter, if the
    drafter serves another draft some of whose tokens were rejected.)

    Example: a drafter that repeats the last token of the text.

        class RepeatDrafter:
            name, sampling, forward_seconds = "repeat", None, 0.0

            def start(self, prompt, text):
                pass

            def propose(self, text, limit, policy, generator):
                law = OneHot(torch.tensor(text[-1:]))
                return draft_tokens(lambda drafted: law, limit, policy, generator)

            def score(self, stretch, options):
                before = [stretch.text[-1], *stretch.tokens[:-1]]
                scores = score_laws(stretch, OneHot(torch.tensor(before)), options.leniences)
                return [scores for _ in options.samplings]
    """

    @property
    def name(self) -> str:
        """The drafter's name in reports, as a user would write it."""

    @property
    def sampling(self) -> Sampling | None:
        """The user's sampling settings of the draft; None if the drafter has none."""

    @property
    def forward_seconds(self) -> float:
        """Seconds spent on distributions so far: forward passes of a model, look-ups in a table."""

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        """Begins a new text.

        Args:
          text: the ids that decoding continues; the prompt itself for a decoder-only target.

        Raises:
          ValueError: before any pass, if the drafter cannot draft for this prompt.
        """

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        """Returns up to `limit` tokens after text; the policy or the drafter may stop earlier.

        A drawn token is never dropped: that would bias the output.
        """

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        """Returns the probability that each token of a stretch would be accepted if drafted.

        Called after `start`, for consecutive stretches of one text. A model scores each stretch in
        one parallel pass.

        Returns:
          one result per sampling setting; equal results if the drafter has no settings.
        """


@runtime_checkable
class ReadsStates(Protocol):
    """A drafter that reads hidden states of the target's pass over the prompt."""

    def read_prompt(self, text: Sequence[int]) -> None:
        """Reads the states. Called after `start`, when the target has read all but the last id."""


class Clock:
    """A stopwatch for one block, which starts when it is made."""

    def __init__(self, drafter: Drafter | None, target: Model) -> None:
        """Starts the clock. Without a drafter the drafting time is 0."""
        self._drafter = drafter
        self._target = target
        self._began = time.perf_counter()
        self._before = self._passes()

    def _passes(self) -> tuple[float, float]:
        drafting = 0.0 if self._drafter is None else self._drafter.forward_seconds
        return drafting, self._target.forward_seconds

    def seconds(self) -> tuple[float, float, float]:
        """Returns seconds in the drafter's passes, in the target's passes, and elsewhere."""
        draft, verify = (now - then for now, then in zip(self._passes(), self._before, strict=True))
        return draft, verify, time.perf_counter() - self._began - draft - verify
