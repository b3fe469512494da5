"""Prompt lookup: draft what followed the last words when they stood in the text before.

The drafter that "copies tokens from the context" of Leviathan et al. 2023, section 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ngram.drafters.matches import MOST, Matches
from reference.drafter import Draft
from reference.laws.laws import Laws, OneHot
from reference.laws.scoring import Scores
from reference.models.stopwatch import Stopwatch
from reference.policies.policy import Policy

LONGEST = 3


class PromptLookupDrafter:
    """Copies what followed the most recent match of the text's last N..1 tokens.

    Without a match nothing is drafted, and the step is one of the target's own. An encoder-decoder
    model's prompt counts as what stands before its text.
    """

    def __init__(self, *, device: torch.device, longest: int = LONGEST) -> None:
        """Makes the drafter.

        Args:
          device: the target's.
          longest: N, how many tokens a match may have; longer matches go first.

        Raises:
          ValueError: if longest is not in [1, MOST].
        """
        if not 1 <= longest <= MOST:
            raise ValueError(f"a lookup must match 1 to {MOST} tokens, got {longest}")
        self.device = device
        self.longest = longest
        self._stopwatch = Stopwatch(torch.device("cpu"))
        self._matches = Matches(longest)
        self._before: list[int] = []

    @property
    def name(self) -> str:
        return "lookup" if self.longest == LONGEST else f"lookup:{self.longest}"

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self._matches = Matches(self.longest)
        begins_with_prompt = list(text[: len(prompt)]) == list(prompt)
        self._before = [] if begins_with_prompt else list(prompt)

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        copied = self._continuation(text, limit)
        tokens = torch.tensor(copied, dtype=torch.int64, device=self.device)
        length = 0
        refused = False
        while length < len(copied):
            token = tokens[length : length + 1]
            refused = not policy.trusts(OneHot(token))
            if refused:
                break
            length += 1
            if length < len(copied) and not policy.goes_on(token, OneHot(token)):
                break
        return Draft(tokens[:length], OneHot(tokens[:length]), refused=refused)

    def _continuation(self, text: Sequence[int], limit: int) -> list[int]:
        with self._stopwatch:
            self._matches.update([*self._before, *text])
            return self._matches.continuation(limit)

    def score(
        self,
        prompt: Sequence[int],
        text: Sequence[int],
        continuation: Sequence[int],
        p: Laws,
        max_gamma: int,
    ) -> Scores:
        self.start(prompt, text)
        whole = [*text, *continuation]
        positions = len(continuation)
        drafts = [
            self._continuation(whole[:end], max_gamma) for end in range(len(text), len(whole))
        ]
        drafted = torch.tensor([len(draft) for draft in drafts])
        # A one-hot law at another token accepts nothing; at the text's own, 1/p is above 1.
        acceptance = torch.zeros(positions, max_gamma, dtype=torch.float64)
        for start, draft in enumerate(drafts):
            for offset, (token, own) in enumerate(zip(draft, continuation[start:], strict=False)):
                acceptance[start, offset] = float(token == own)
        first = torch.tensor([draft[0] if draft else 0 for draft in drafts], device=p.device)
        beta = p.of(first).double().cpu() * (drafted > 0)
        return Scores(beta, acceptance, drafted)
