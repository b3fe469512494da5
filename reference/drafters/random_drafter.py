"""The random drafter: uniform over the vocabulary, at no cost (Leviathan et al. 2023, 3.6)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from reference.drafter import Draft, draft_tokens
from reference.laws import Dense
from reference.policies import Policy
from reference.scoring import ScoreOptions, Scores, Stretch, score_laws


class Uniform(Dense):
    """The uniform distribution over the vocabulary, at one position."""

    def draw(self, generator: torch.Generator) -> Tensor:
        """Returns one token, shape (1,), int64, without reading a vocabulary-sized row."""
        vocabulary = self.probabilities.shape[1]
        return torch.randint(vocabulary, (1,), generator=generator, device=self.device)


class RandomDrafter:
    """Drafts uniformly random tokens; its alpha is about 1 / vocabulary."""

    name = "random"
    sampling = None
    forward_seconds = 0.0

    def __init__(self, vocabulary: int, device: torch.device) -> None:
        self._law = Uniform(torch.full((1, vocabulary), 1 / vocabulary, device=device))

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        pass

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        return draft_tokens(lambda _: self._law, limit, policy, generator)

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        everywhere = Dense(self._law.probabilities.expand(len(stretch.tokens), -1))
        scores = score_laws(stretch, everywhere, options.leniences)
        return [scores for _ in options.samplings]
