"""Drafting with a second, smaller model (Leviathan et al. 2023, Algorithm 1, first half)."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from reference.drafter import Draft
from reference.laws import Laws, OneHot, concatenate
from reference.model import Model, finite_rows, require_finite
from reference.policies import Policy
from reference.sampling import Sampling
from reference.scoring import Scores, score_laws


class ModelDrafter:
    """Drafts autoregressively with a model, over the target's vocabulary.

    Two models of one family may pad their rows to different widths: ids beyond the draft's get
    probability 0, and ids beyond the target's cannot be drafted.
    """

    def __init__(self, draft: Model, sampling: Sampling, vocabulary: int) -> None:
        """Wraps a draft model.

        Args:
          draft: the approximation model M_q.
          sampling: makes its laws of its logits; usually the target's own settings.
          vocabulary: width of the target's rows.
        """
        self.draft = draft
        self.sampling = sampling
        self.vocabulary = vocabulary

    @property
    def name(self) -> str:
        return self.draft.name

    @property
    def forward_seconds(self) -> float:
        return self.draft.forward_seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        if self.draft.start(prompt) != list(text):
            raise ValueError(f"{self.name} begins its texts otherwise than the target does")

    def fit(self, logits: Tensor) -> Tensor:
        """Returns logits cut or padded to the target's vocabulary, shape (n, vocabulary)."""
        missing = self.vocabulary - logits.shape[-1]
        if missing <= 0:
            return logits[:, : self.vocabulary]
        return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        # The last token is the target's own, never seen before; the one before it, too, if the
        # whole of the previous draft was accepted.
        self.draft.rollback(min(self.draft.length, len(text) - 1))
        feed = torch.tensor(text[self.draft.length :], device=self.draft.device)
        tokens: list[Tensor] = []
        q: list[Laws] = []
        finite: list[Tensor] = []
        while len(tokens) < limit:
            logits = self.fit(self.draft.extend(feed)[-1:])
            drafted = torch.cat(tokens) if tokens else None
            law = self.sampling.laws(logits, text, drafted)
            feed = law.draw(generator)
            tokens.append(feed)
            q.append(law)
            finite.append(finite_rows(logits))
            if len(tokens) < limit and not policy.goes_on(feed, law):
                break
        if not tokens:
            none = feed[:0]
            return Draft(none, OneHot(none))
        return Draft(torch.cat(tokens), concatenate(q), torch.cat(finite))

    def score(
        self,
        prompt: Sequence[int],
        text: Sequence[int],
        continuation: Sequence[int],
        p: Laws,
        max_gamma: int,
    ) -> Scores:
        self.start(prompt, text)
        q = text_laws(self.draft, text, continuation, self.sampling, self.fit)
        return score_laws(p, q, continuation)


def text_laws(
    model: Model,
    text: Sequence[int],
    continuation: Sequence[int],
    sampling: Sampling,
    fit: Callable[[Tensor], Tensor] = lambda logits: logits,
) -> Laws:
    """Returns a model's law of each token of a given continuation, from one parallel pass.

    Args:
      model: started on text.
      text: the ids before the continuation.
      continuation: ids, at least 1.
      sampling: makes laws of the logits.
      fit: maps logits to the vocabulary of the laws.

    Raises:
      FloatingPointError: if the model returns logits that are NaN or infinite.
    """
    given = torch.tensor(continuation[:-1], dtype=torch.int64, device=model.device)
    last = torch.tensor(text[-1:], device=model.device)
    logits = fit(model.extend(torch.cat([last, given])))
    require_finite(finite_rows(logits).tolist(), model.name, len(text))
    return sampling.laws(logits, text, given)
