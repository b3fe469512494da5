"""Drafting with a second, smaller model (Leviathan et al. 2023, Algorithm 1, first half)."""

import sys
from collections.abc import Sequence

import torch
from torch import Tensor

from reference.drafter import Draft, draft_tokens
from reference.drafters.trees import lineage
from reference.laws import Laws, Sampling
from reference.models.derived import fitted
from reference.models.model import Model, text_limit
from reference.models.text_tree import require_branching
from reference.policies import Policy
from reference.score_text import require_scorable, text_laws
from reference.scoring import ScoreOptions, Scores, Stretch, score_laws


class ModelDrafter:
    """Drafts token by token with a model, over the target's vocabulary."""

    def __init__(self, draft: Model, sampling: Sampling, vocabulary: int) -> None:
        self.draft = fitted(draft, vocabulary)
        self.sampling = sampling
        self._limit: int | None = None

    @property
    def name(self) -> str:
        return self.draft.name

    @property
    def forward_seconds(self) -> float:
        return self.draft.forward_seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        own = self.draft.beginning(prompt)
        if own != list(text):
            raise ValueError(
                "target and draft must both be decoder-only or both encoder-decoder models with "
                f"one start token, got {self.name}, whose texts begin with {own[:3]} where the "
                f"target's begin with {list(text[:3])}"
            )
        self._limit = text_limit(self.draft, len(text))
        self.draft.start(prompt)

    def catch_up(self, text: Sequence[int]) -> None:
        """Drops from the draft's cache rejected tokens, and the text's last token if it is there.

        At least that token is then unread. If the whole previous draft was accepted, its last token
        is, too: the draft drew it but never read it.
        """
        self.draft.rollback(min(self.draft.length, len(text) - 1))

    def room(self, text: Sequence[int]) -> int:
        """Returns how many more tokens fit the draft's positions."""
        return sys.maxsize if self._limit is None else max(self._limit - len(text) + 1, 0)

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        self.catch_up(text)
        limit = min(limit, self.room(text))
        unseen = torch.tensor(text[self.draft.length :], device=self.draft.device)

        def law_after(tokens: list[Tensor]) -> Laws:
            logits = self.draft.extend(tokens[-1] if tokens else unseen)
            return self.sampling.laws(logits[-1:], text, tokens)

        return draft_tokens(law_after, limit, policy, generator)

    @property
    def vocabulary(self) -> int:
        return self.draft.vocabulary

    @property
    def most_nodes(self) -> int | None:
        return self.draft.max_length

    def require_trees(self) -> None:
        require_branching(self.draft)

    def begin_tree(self, text: Sequence[int], depth: int) -> tuple[int, Tensor] | None:
        self.catch_up(text)
        depth = min(depth, self.room(text))
        if depth <= 0:
            return None
        unseen = torch.tensor(text[self.draft.length :], device=self.draft.device)
        return depth, self.draft.extend(unseen)[-1:]

    def deepen(
        self, text: Sequence[int], tokens: Tensor, parents: Sequence[int], places: Sequence[int]
    ) -> Tensor:
        # The cache holds a single text, so the ancestors of this level are read again.
        read = sorted({above for place in places for above in lineage(place, parents)})
        feeding = [-1 if parents[at] < 0 else read.index(parents[at]) for at in read]
        logits = self.draft.extend(tokens[read], feeding)
        self.draft.keep(len(text), [])
        return logits[[read.index(place) for place in places]]

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        fed = len(stretch.text) + len(stretch.tokens) - 1
        require_scorable(self.draft, self._limit, fed)
        laws = text_laws(self.draft, stretch.text, stretch.tokens, options.samplings)
        return [score_laws(stretch, q, options.leniences) for q in laws]
