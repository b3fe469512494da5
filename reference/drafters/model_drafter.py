"""Drafting with a second, smaller model (Leviathan et al. 2023, Algorithm 1, first half)."""

import sys
from collections.abc import Sequence

import torch
from torch import Tensor

from reference.drafter import Draft
from reference.laws.laws import Laws, OneHot, concatenate
from reference.laws.sampling import Sampling
from reference.laws.scoring import Scores, score_laws
from reference.models.fitted_model import fitted
from reference.models.model import Model, peaks, positions_of, require_finite, text_limit
from reference.policies.policy import Policy


class ModelDrafter:
    """Drafts autoregressively with a model, over the target's vocabulary."""

    def __init__(self, draft: Model, sampling: Sampling, vocabulary: int) -> None:
        """Wraps a draft model.

        Args:
          draft: the approximation model M_q.
          sampling: makes its laws of its logits; usually the target's own settings.
          vocabulary: width of the target's rows.
        """
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
        """Drops what the draft's cache holds beyond all of text but its last token.

        What then remains to be fed is the last token, the target's own, and the one before it if
        the whole of the previous draft was accepted: the draft drew that one but never saw it.
        """
        self.draft.rollback(min(self.draft.length, len(text) - 1))

    def room(self, text: Sequence[int]) -> int:
        """Returns how many tokens the draft's positions allow after text."""
        return sys.maxsize if self._limit is None else max(self._limit - len(text) + 1, 0)

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        self.catch_up(text)
        limit = min(limit, self.room(text))
        feed = torch.tensor(text[self.draft.length :], device=self.draft.device)
        tokens: list[Tensor] = []
        q: list[Laws] = []
        largest: list[Tensor] = []
        refused = False
        while len(tokens) < limit:
            logits = self.draft.extend(feed)[-1:]
            law = self.sampling.laws(logits, text, tokens)
            largest.append(peaks(logits))
            if not policy.trusts(law):
                refused = True
                break
            feed = law.draw(generator)
            tokens.append(feed)
            q.append(law)
            if len(tokens) < limit and not policy.goes_on(feed, law):
                break
        finite = torch.cat(largest).isfinite() if largest else None
        if not tokens:
            none = feed[:0]
            return Draft(none, OneHot(none), finite, refused)
        return Draft(torch.cat(tokens), concatenate(q), finite, refused)

    def score(
        self,
        prompt: Sequence[int],
        text: Sequence[int],
        continuation: Sequence[int],
        p: Laws,
        max_gamma: int,
    ) -> Scores:
        self.start(prompt, text)
        q = text_laws(self.draft, text, continuation, self.sampling)
        return score_laws(p, q, continuation)


def text_laws(
    model: Model, text: Sequence[int], continuation: Sequence[int], sampling: Sampling
) -> Laws:
    """Returns a model's law of each token of a given continuation, from one parallel pass.

    Args:
      model: started on text.
      text: the ids before the continuation.
      continuation: ids, at least 1.
      sampling: makes laws of the logits.

    Raises:
      ValueError: if text and continuation exceed the model's positions.
      FloatingPointError: if the model returns logits that are NaN or infinite.
    """
    fed = len(text) + len(continuation) - 1
    limit = text_limit(model, len(text))
    if limit is not None and fed > limit:
        raise ValueError(
            f"a text to score must fit the {positions_of(model, limit)}, got {fed} tokens"
        )
    given = torch.tensor(continuation[:-1], dtype=torch.int64, device=model.device)
    last = torch.tensor(text[-1:], device=model.device)
    logits = model.extend(torch.cat([last, given]))
    require_finite(peaks(logits).isfinite().tolist(), model.name, len(text))
    return sampling.laws(logits, text, [given])
