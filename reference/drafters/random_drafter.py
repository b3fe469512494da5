"""The random drafter: uniform over the vocabulary, at no cost (Leviathan et al. 2023, 3.6)."""

from collections.abc import Sequence

import torch

from reference.drafter import Draft
from reference.laws.laws import Dense, Laws
from reference.laws.sampling import Sampling
from reference.laws.scoring import Scores, Stretch, score_laws
from reference.policies.policy import Policy


class RandomDrafter:
    """Drafts tokens at random.

    Its alpha is at least 1 / vocabulary, and more only where the target's law is spread out.
    """

    name = "random"
    sampling = None
    forward_seconds = 0.0

    def __init__(self, vocabulary: int, device: torch.device) -> None:
        """Makes the drafter.

        Args:
          vocabulary: width of the target's rows.
          device: the target's.
        """
        self._law = torch.full((1, vocabulary), 1 / vocabulary, device=device)

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        pass

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        vocabulary = self._law.shape[1]
        tokens = torch.empty(0, dtype=torch.int64, device=self._law.device)
        refused = False
        while len(tokens) < limit:
            refused = not policy.trusts(self._laws(1))
            if refused:
                break
            token = torch.randint(vocabulary, (1,), generator=generator, device=tokens.device)
            tokens = torch.cat([tokens, token])
            if not policy.goes_on(token, self._laws(1)):
                break
        return Draft(tokens, self._laws(len(tokens)), refused=refused)

    def _laws(self, positions: int) -> Laws:
        return Dense(self._law.expand(positions, -1))

    def score(
        self,
        stretch: Stretch,
        samplings: Sequence[Sampling],
        *,
        leniences: Sequence[float],
        max_gamma: int,
    ) -> list[Scores]:
        scores = score_laws(stretch, self._laws(len(stretch.tokens)), leniences)
        return [scores for _ in samplings]
