"""The drafter protocol, the loop that drafts token by token, and the scoring of a whole text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from reference.laws import Laws, OneHot, Sampling, concatenate
from reference.models.model import Model, peaks, positions_of, require_finite, text_limit
from reference.models.text_tree import prefix_tree
from reference.policies import Policy
from reference.scoring import ScoreOptions, Scores, Stretch

# Numbers in the rows of one stretch: a tensor of 32 MB, of which only a few exist at once.
ROW_NUMBERS = 1 << 23


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens and the distributions that they were drawn from.

    tokens: shape (gamma,), int64, on the target's device; gamma may be 0.
    q: row i is the distribution of tokens[i], over the target's vocabulary; one-hot if the draft
      was chosen without randomness. In a draft that branches, row i also depends on the siblings
      that were drawn before the token.
    witness: one number per computed distribution, finite if and only if the logits were. The
      verifier checks it, so that drafting need not wait for the device. Shape (gamma,), or
      (gamma + 1,) if the policy refused to draw from the last distribution; None without a model.
    parents: for a draft that branches, the index of the token that each token follows; -1: it
      follows the text. Children of one token differ. None: each token follows the previous one.
    """

    tokens: Tensor
    q: Laws
    witness: Tensor | None = None
    parents: tuple[int, ...] | None = None


def no_draft(device: torch.device) -> Draft:
    """Returns a draft without tokens."""
    none = torch.empty(0, dtype=torch.int64, device=device)
    return Draft(none, OneHot(none))


def merge_drafts(drafts: Sequence[Sequence[int]], device: torch.device) -> Draft:
    """Returns several drafts, likeliest first, as one branching draft with shared prefixes."""
    tokens, parents, _ = prefix_tree(map(tuple, drafts))
    ids = torch.tensor(tokens, dtype=torch.int64, device=device)
    return Draft(ids, OneHot(ids), parents=tuple(parents))


class Drafter(Protocol):
    """Proposes continuations of a text.

    Between two calls of `propose` the text keeps the accepted tokens of the draft and gains one
    token of the target, so a drafter's cache of the text stays valid up to the first rejected
    token. In a hierarchy (`HierarchicalDrafter`) the text of the cheaper drafter may also lose
    tokens that the target rejects.

    Example: a drafter that repeats the last token of the text.

      >>> from reference.scoring import score_laws
      >>> from reference.policies import Fixed
      >>> class RepeatDrafter(Drafter):
      ...     name, sampling, forward_seconds = "repeat", None, 0.0
      ...     def start(self, prompt, text):
      ...         pass
      ...     def propose(self, text, limit, policy, generator):
      ...         law = OneHot(torch.tensor(text[-1:]))
      ...         return draft_tokens(lambda drafted: law, limit, policy, generator)
      ...     def score(self, stretch, options):
      ...         before = [stretch.text[-1], *stretch.tokens[:-1]]
      ...         scores = score_laws(stretch, OneHot(torch.tensor(before)), options.leniences)
      ...         return [scores for _ in options.samplings]
      >>> RepeatDrafter().propose([5, 7], 3, Fixed(3), torch.Generator()).tokens
      tensor([7, 7, 7])

    name: the drafter's name in reports, as a user would write it.
    """

    name: str

    @property
    def sampling(self) -> Sampling | None:
        """The sampling settings of the draft; None if the drafter has none."""

    @property
    def forward_seconds(self) -> float:
        """Seconds spent so far on computing distributions."""

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        """Begins a new text; before any forward pass, refuses a prompt that it cannot draft for.

        text: the ids that decoding continues; the prompt itself for a decoder-only target.
        """

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        """Returns a draft of at most `limit` tokens that continue the text.

        It must contain every token that was drawn, because leaving out some would bias the output.
        """

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        """Returns the acceptance scores of a stretch of text, for each of `options.samplings`.

        Called after `start`, for one stretch after another of the same text.
        """


@runtime_checkable
class ReadsStates(Protocol):
    """A drafter that reads the target's hidden states of the prompt, e.g. `StateHeadDrafter`."""

    def read_prompt(self, text: Sequence[int]) -> None:
        """Reads the prompt's states, after the target has read the text except its last id."""


def draft_tokens(
    law_after: Callable[[list[Tensor]], Laws],
    limit: int,
    policy: Policy,
    generator: torch.Generator,
) -> Draft:
    """Returns up to `limit` tokens, drawn one by one until the policy stops.

    law_after: takes the tokens drafted so far (shape (1,) each); returns the next distribution.
    """
    tokens: list[Tensor] = []
    laws: list[Laws] = []
    while len(tokens) < limit:
        laws.append(law_after(tokens))
        if not policy.trusts(laws[-1]):
            break
        tokens.append(laws[-1].draw(generator))
        if len(tokens) < limit and not policy.goes_on(tokens[-1], laws[-1]):
            break
    if not laws:
        return no_draft(generator.device)
    computed = concatenate(laws)
    drafted = torch.cat(tokens) if tokens else no_draft(generator.device).tokens
    return Draft(drafted, computed.first(len(tokens)), computed.witness)


def draft_from(laws: Laws, limit: int, policy: Policy, generator: torch.Generator) -> Draft:
    """Returns up to `limit` tokens drawn from the distributions of consecutive positions."""
    places = laws.split()
    return draft_tokens(lambda tokens: places[len(tokens)], limit, policy, generator)


@torch.inference_mode()
def score_text(
    target: Model,
    drafter: Drafter,
    prompt: Sequence[int],
    tokens: Sequence[int],
    options: ScoreOptions,
    *,
    sampling: Sampling,
) -> list[Scores]:
    """Returns the scores of all tokens of a text, for each sampling setting of the draft.

    Each model reads the text once, in as few parallel passes as memory allows (ROW_NUMBERS).

    tokens: at least 1 id after the prompt, sampled from the target under `sampling`.
    """
    text = target.start(prompt)
    require_scorable(target, text_limit(target, len(text)), len(text) + len(tokens) - 1)
    drafter.start(prompt, text)
    positions = max(ROW_NUMBERS // target.vocabulary, 1)
    parts: list[list[Scores]] = []
    for first in range(0, len(tokens), positions):
        before, here = [*text, *tokens[:first]], tokens[first : first + positions]
        [p] = text_laws(target, before, here, [sampling])
        parts.append(drafter.score(Stretch(before, here, p), options))
    return [_joined(of_one) for of_one in zip(*parts, strict=True)]


def _joined(parts: Sequence[Scores]) -> Scores:
    """Returns the scores of consecutive stretches, concatenated."""
    columns = ([getattr(part, field.name) for part in parts] for field in fields(Scores))
    joined: Any = (None if rows[0] is None else torch.cat(rows) for rows in columns)
    return Scores(*joined)


def require_scorable(model: Model, limit: int | None, fed: int) -> None:
    """Raises ValueError if scoring makes the model read more tokens (`fed`) than its limit."""
    if limit is not None and fed > limit:
        raise ValueError(
            f"a text to score must fit the {positions_of(model, limit)}, got {fed} tokens"
        )


def text_laws(
    model: Model, text: Sequence[int], tokens: Sequence[int], samplings: Sequence[Sampling]
) -> list[Laws]:
    """Returns a model's distributions of `tokens`, which follow `text`, per sampling setting."""
    model.rollback(min(model.length, len(text) - 1))
    unseen = torch.tensor(text[model.length :], dtype=torch.int64, device=model.device)
    given = torch.tensor(tokens[:-1], dtype=torch.int64, device=model.device)
    logits = model.extend(torch.cat([unseen, given]))[-len(tokens) :]
    require_finite(peaks(logits).tolist(), model.name, len(text))
    return [sampling.laws(logits, text, [given]) for sampling in samplings]
