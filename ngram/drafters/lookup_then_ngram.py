"""Combines two drafters of negligible cost: a lookup where the text repeats, else an n-gram."""

from collections.abc import Sequence

import torch

from ngram.drafters.copying import PromptLookupDrafter
from ngram.drafters.ngram_drafter import NgramDrafter
from reference.drafter import Draft
from reference.laws.sampling import Sampling
from reference.laws.scoring import ScoreOptions, Scores, Stretch
from reference.policies.policy import Policy


class LookupThenNgram:
    """Drafts each block by lookup if the lookup finds a match, else by the n-gram model."""

    def __init__(self, lookup: PromptLookupDrafter, ngram: NgramDrafter) -> None:
        self.lookup = lookup
        self.ngram = ngram
        self._copied = torch.zeros(0, dtype=torch.bool)  # for scoring: where the lookup drafted

    @property
    def name(self) -> str:
        return f"{self.lookup.name}+{self.ngram.name}"

    @property
    def sampling(self) -> Sampling:
        return self.ngram.sampling

    @property
    def forward_seconds(self) -> float:
        return self.lookup.forward_seconds + self.ngram.forward_seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self.lookup.start(prompt, text)
        self.ngram.start(prompt, text)
        self._copied = self._copied[:0]

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        draft = self.lookup.propose(text, limit, policy, generator)
        if len(draft.tokens) > 0:
            return draft
        return self.ngram.propose(text, limit, policy, generator)

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        copied = self.lookup.score(stretch, options)
        drafted = copied[0].drafted
        assert drafted is not None
        copying = drafted > 0
        self._copied = torch.cat([self._copied, copying])
        # By position: whether blocks that began 0, 1, ... positions earlier were copied.
        max_gamma = options.max_gamma
        begun = torch.nn.functional.pad(self._copied, (max_gamma - 1, 0)).unfold(0, max_gamma, 1)
        begun = begun[-len(copying) :].flip(1)
        modelled = self.ngram.score(stretch, options)
        return [
            Scores(
                beta=torch.where(copying, copy.beta, model.beta),
                ratio=torch.where(begun, copy.ratio, model.ratio[:, None]),
                drafted=torch.where(copying, drafted, max_gamma),
                lenient_beta=torch.where(copying[:, None], copy.lenient_beta, model.lenient_beta),
            )
            for copy, model in zip(copied, modelled, strict=True)
        ]
