"""Drafting with a smaller model, with a model that has a drafter of its own, and at random.

Leviathan et al. 2023, Algorithm 1, first half; section 6 proposes "a hierarchical version of the
algorithm, where the approximation model is itself accelerated by an even faster model".
"""

import sys
from collections.abc import Sequence

import torch
from torch import Tensor

from reference.drafter import Draft, Drafter, draft_tokens, no_draft, require_scorable, text_laws
from reference.drafters.trees import lineage
from reference.laws import Dense, Laws, Sampling, concatenate
from reference.models.model import Model, fitted, text_limit
from reference.models.text_tree import require_branching
from reference.policies import Fixed, Policy
from reference.rules import STRICT
from reference.scoring import ScoreOptions, Scores, Stretch, score_laws
from reference.verify import verify_draft


class ModelDrafter:
    """Drafts token by token with a model, over the target's vocabulary."""

    def __init__(self, draft: Model, sampling: Sampling, vocabulary: int) -> None:
        self.draft = fitted(draft, vocabulary)
        self.name = draft.name
        self.sampling = sampling
        self.vocabulary = vocabulary
        self.most_nodes = draft.max_length
        self._limit: int | None = None

    @property
    def forward_seconds(self) -> float:
        return self.draft.forward_seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        beginning = self.draft.beginning(prompt)
        if beginning != list(text):
            raise ValueError(
                "target and draft must both be decoder-only or both encoder-decoder models with "
                f"one start token, got {self.name}, whose texts begin with "
                f"{beginning[:3]} where the target's begin with {list(text[:3])}"
            )
        self._limit = text_limit(self.draft, len(text))
        self.draft.start(prompt)

    def catch_up(self, text: Sequence[int]) -> None:
        """Drops rejected tokens and the text's last token from the draft model's cache.

        The model then reads at least one token before it drafts, two after a fully accepted draft.
        """
        self.draft.rollback(min(self.draft.length, len(text) - 1))

    def room(self, text: Sequence[int]) -> int:
        """Returns how many tokens may be drafted before the text is too long for the model."""
        return sys.maxsize if self._limit is None else max(self._limit - len(text) + 1, 0)

    def _ready(self, text: Sequence[int], limit: int) -> tuple[int, Tensor]:
        """Returns the number of tokens to draft, and the ids that the model has to read first."""
        self.catch_up(text)
        unseen = torch.tensor(text[self.draft.length :], device=self.draft.device)
        return min(limit, self.room(text)), unseen

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        limit, unseen = self._ready(text, limit)

        def law_after(tokens: list[Tensor]) -> Laws:
            logits = self.draft.extend(tokens[-1] if tokens else unseen)
            return self.sampling.laws(logits[-1:], text, tokens)

        return draft_tokens(law_after, limit, policy, generator)

    def require_trees(self) -> None:
        require_branching(self.draft)

    def begin_tree(self, text: Sequence[int], depth: int) -> tuple[int, Tensor] | None:
        depth, unseen = self._ready(text, depth)
        return (depth, self.draft.extend(unseen)[-1:]) if depth > 0 else None

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


class HierarchicalDrafter:
    """Drafts with a model that is itself accelerated by a cheaper drafter.

    The model's speculative decoding is lossless: its tokens have the model's distribution q. The
    target then verifies them against q.

    drafter: the cheaper drafter, over the model's vocabulary; it may be a hierarchy, too.
    """

    def __init__(self, model: ModelDrafter, drafter: Drafter, gamma: int) -> None:
        self.model = model
        self.drafter = drafter
        self.name = f"{model.name} via {drafter.name}"
        self.sampling = model.sampling
        self._policy = Fixed(gamma)

    @property
    def forward_seconds(self) -> float:
        return self.model.forward_seconds + self.drafter.forward_seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self.model.start(prompt, text)
        self.drafter.start(prompt, text)

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        self.model.catch_up(text)
        limit = min(limit, self.model.room(text))
        device = self.model.draft.device
        tokens: list[int] = []
        q: list[Laws] = []
        goes_on = True
        while goes_on and len(tokens) < limit:
            grown = [*text, *tokens]
            # A block emits one token more than it drafts.
            gamma = min(self._policy.value, limit - len(tokens) - 1)
            verified = verify_draft(
                self.model.draft,
                self.drafter.propose(grown, gamma, self._policy, generator),
                grown,
                drafter_name=self.drafter.name,
                sampling=self.model.sampling,
                rule=STRICT,
                generator=generator,
            )
            # The draft ends before the first distribution that the policy does not trust. Dropping
            # those tokens adds no bias, because it depends on the distributions only.
            laws = verified.p.first(len(verified.tokens)).split()
            trusted = [*map(policy.trusts, laws), False].index(False)
            emitted = torch.tensor(verified.tokens[:trusted], device=device).split(1)
            tokens += verified.tokens[:trusted]
            q += laws[:trusted]
            goes_on = trusted == len(laws) and all(map(policy.goes_on, emitted, laws))
        # Shows the cheaper drafter the model's tokens before the target's token follows.
        self.drafter.propose([*text, *tokens], 0, policy, generator)
        if not tokens:
            return no_draft(device)
        return Draft(torch.tensor(tokens, device=device), concatenate(q))

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        return self.model.score(stretch, options)


def draft_model(drafter: Drafter) -> Model | None:
    """Returns the model that a drafter drafts with; None if it drafts without one."""
    lower = drafter.model if isinstance(drafter, HierarchicalDrafter) else drafter
    return lower.draft if isinstance(lower, ModelDrafter) else None


class Uniform(Dense):
    """The uniform distribution at one position; `draw` does not read the probabilities."""

    def draw(self, generator: torch.Generator) -> Tensor:
        vocabulary = self.probabilities.shape[1]
        return torch.randint(vocabulary, (1,), generator=generator, device=self.device)


class RandomDrafter:
    """Drafts uniformly random tokens, with alpha about 1 / vocabulary (Leviathan 2023, 3.6)."""

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
