"""Hierarchical drafting: a draft model that is itself accelerated by a cheaper drafter.

Leviathan et al. 2023, section 6: "a hierarchical version of the algorithm, where the approximation
model is itself accelerated by an even faster model". Hierarchies can be nested to any depth.
"""

from collections.abc import Sequence

import torch

from reference.drafter import Draft, Drafter, no_draft
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Laws, Sampling, concatenate
from reference.models.model import Model
from reference.policies import Fixed, Policy
from reference.rules import STRICT
from reference.scoring import ScoreOptions, Scores, Stretch
from reference.verify import verify_draft


class HierarchicalDrafter:
    """Drafts what its model would draft, by speculative decoding with a cheaper drafter.

    The inner decoding is lossless: its tokens have the model's distribution q, and they go to the
    target with the model's own rows.

    drafter: drafts for the model, over the model's vocabulary.
    """

    def __init__(self, model: ModelDrafter, drafter: Drafter, gamma: int) -> None:
        self.model = model
        self.drafter = drafter
        self._policy = Fixed(gamma)

    @property
    def name(self) -> str:
        return f"{self.model.name} via {self.drafter.name}"

    @property
    def sampling(self) -> Sampling:
        return self.model.sampling

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
            # A block emits one token more than it drafts, so one less is drafted.
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
            places = torch.arange(len(verified.tokens), device=device).split(1)
            trusts = [policy.trusts(verified.p.at(at)) for at in places]
            trusted = places[: [*trusts, False].index(False)]
            emitted = torch.tensor(verified.tokens[: len(trusted)], device=device)
            laws = verified.p.first(len(emitted))
            tokens += emitted.tolist()
            q.append(laws)
            goes_on = len(trusted) == len(places) and all(
                policy.goes_on(emitted[at], laws.at(at)) for at in trusted
            )
        # Shows the cheaper drafter the model's tokens before the target's token follows.
        self.drafter.propose([*text, *tokens], 0, policy, generator)
        if not tokens:
            return no_draft(device)
        return Draft(torch.tensor(tokens, device=device), concatenate(q))

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        return self.model.score(stretch, options)


def draft_model(drafter: Drafter) -> Model | None:
    """Returns the model that a drafter drafts with; None if it drafts without one."""
    if isinstance(drafter, HierarchicalDrafter):
        return drafter.model.draft
    return drafter.draft if isinstance(drafter, ModelDrafter) else None
