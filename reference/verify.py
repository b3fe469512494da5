"""One target call judges a draft: it accepts a prefix, or a path of a tree, and adds a token."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.drafter import Draft
from reference.laws import Dense, Laws, OneHot, Sampling, concatenate, draw
from reference.models.model import Model, peaks, require_finite, transfer
from reference.rules import STRICT, Rule, Strict


@dataclass(frozen=True, slots=True)
class Verified:
    """The target's verdict on a draft.

    drafted: the proposed ids. For a draft that branches: the accepted path, extended by first
      children up to a leaf.
    accepted: number of accepted ids, the first ones of `drafted`.
    own: the target's own id, which follows the accepted ones.
    p: the target's distributions at the drafted positions and at the next one. For a draft that
      branches: at the accepted positions and at the next one.
    """

    drafted: tuple[int, ...]
    accepted: int
    own: int
    p: Laws

    @property
    def tokens(self) -> tuple[int, ...]:
        """The ids to append to the text: the accepted ones, then the target's own."""
        return (*self.drafted[: self.accepted], self.own)


def verify_draft(
    target: Model,
    draft: Draft,
    text: Sequence[int],
    *,
    drafter_name: str,
    sampling: Sampling,
    rule: Rule,
    generator: torch.Generator,
) -> Verified:
    """Returns which tokens of a draft the target accepts, and the target's next token.

    Afterwards the target's cache holds the text and the accepted tokens. Refuses a branching draft
    if the rule is not `Strict`, and refuses logits of either model that are not finite.

    target: the model that verifies; its cache lacks at least the last id of the text.
    sampling: the target's settings.
    """
    # A tensor's `len` takes five times as long as its shape.
    gamma = draft.tokens.shape[0]
    unseen = torch.tensor(text[target.length :], device=target.device)
    if draft.parents is not None:
        if not isinstance(rule, Strict):
            raise ValueError(f"a draft that branches needs the strict rule, got {rule.name}")
        return verify_tree(target, draft, text, unseen, sampling=sampling, generator=generator)
    logits = target.extend(torch.cat([unseen, draft.tokens]))[-gamma - 1 :]
    p = sampling.laws(logits, text, [draft.tokens])
    count, next_id = verify(p, draft, rule=rule, generator=generator)

    # The block's only wait for the device.
    q_witness = p.witness[:0] if draft.witness is None else draft.witness
    (*drafted, accepted, token), witness = transfer(
        torch.cat([draft.tokens, count, next_id]), torch.cat([p.witness, q_witness])
    )
    require_finite(witness[gamma + 1 :], drafter_name, len(text))
    require_finite(witness[: gamma + 1], target.name, len(text))
    target.rollback(len(text) + accepted)
    return Verified(tuple(drafted), accepted, token, p)


def verify(
    p: Laws, draft: Draft, *, rule: Rule, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Returns the number of accepted tokens (0 to gamma) and the token that follows them.

    Leviathan et al. 2023, Algorithm 1, second half. The token replaces the first rejected one, or
    is drawn from the target's distribution after the draft. Both results have shape (1,), int64.

    p: the target's distributions at the gamma drafted positions and at the next one.
    """
    gamma = draft.tokens.shape[0]
    if gamma == 0:
        return draft.tokens.new_zeros(1), p.draw(generator)
    draws = 0 if isinstance(p, OneHot) else gamma
    uniform = torch.rand(draws, generator=generator, device=draft.tokens.device)
    accepts = rule.accepts(p.first(gamma), draft.q, draft.tokens, uniform)
    accepted = accepts.cumprod(dim=0).sum(dim=0, keepdim=True)
    if isinstance(p, OneHot):
        # A token rejected under a one-hot p is not p's, so max(0, p - q) is p's token.
        return accepted, p.tokens.gather(0, accepted)
    place = accepted.clamp(max=gamma - 1)
    replacement = rule.replacement(p.first(gamma), draft.q, draft.tokens, place).probabilities
    weights = torch.where(accepted[:, None] < gamma, replacement, p.probabilities[gamma:])
    return accepted, draw(weights, generator)


def verify_tree(
    target: Model,
    draft: Draft,
    text: Sequence[int],
    unseen: Tensor,
    *,
    sampling: Sampling,
    generator: torch.Generator,
) -> Verified:
    """Returns the path of a branching draft that the target accepts, and the target's next token.

    The target reads each shared prefix once (Spector and Re 2023; Kim et al. 2024, section 7.2,
    verify several drafts as a batch). Afterwards its cache holds the text and the accepted path.

    unseen: the last ids of the text, at least 1, which the target has not read.
    """
    assert draft.parents is not None
    before = len(unseen)
    parents = [*range(-1, before - 1), *(before + parent for parent in draft.parents)]
    logits = target.extend(torch.cat([unseen, draft.tokens]), parents)[before - 1 :]
    require_finite(peaks(logits).tolist(), target.name, len(text))
    tokens = draft.tokens.tolist()
    children: list[list[int]] = [[] for _ in range(len(tokens) + 1)]
    for place, parent in enumerate(draft.parents):
        children[parent + 1].append(place)

    laws: list[Laws] = []
    accepted: list[int] = []
    while True:
        # Row 0 is the distribution after the text; row i + 1 follows the draft's token i.
        row = 1 + accepted[-1] if accepted else 0
        path = [draft.tokens[place : place + 1] for place in accepted]
        laws.append(sampling.laws(logits[row : row + 1], text, path))
        child, next_id = judge_children(laws[-1], draft, children[row], generator)
        if child is None:
            break
        accepted.append(child)
    target.keep(len(text), accepted)
    drafted = [tokens[place] for place in accepted]
    while children[row]:
        place = children[row][0]
        drafted.append(tokens[place])
        row = place + 1
    return Verified(tuple(drafted), len(accepted), next_id, concatenate(laws))


def judge_children(
    p: Laws, draft: Draft, children: Sequence[int], generator: torch.Generator
) -> tuple[int | None, int]:
    """Returns which child of a token is accepted (None: no child), and the id after the token.

    If the draft was chosen without randomness, a token is drawn from p, and a child that equals it
    is accepted. So every token of the text is a draw from p, no matter which tokens were drafted.

    If the children were drawn, they are judged in drawing order (SpecInfer, Miao et al. 2023,
    Algorithm 2; without replacement, Sequoia, Chen et al. 2024, Algorithm 2). The strict rule
    compares the first child with p. After a rejection p becomes norm(max(0, p - q)), and the next
    child is compared with this new p. If all are rejected, the token is drawn from the last p.

    p: the target's distribution after the token.
    children: indices of the token's children in the draft, in the order in which they were drawn.
    """
    if isinstance(draft.q, OneHot):
        next_id = int(p.draw(generator))
        tokens = draft.tokens.tolist()
        return next((place for place in children if tokens[place] == next_id), None), next_id
    first = draft.tokens.new_zeros(1)
    for place in children:
        token = draft.tokens[place : place + 1]
        q = draft.q.at(first + place)
        uniform = torch.rand(1, generator=generator, device=token.device)
        if STRICT.accepts(p, q, token, uniform):
            return place, int(token)
        # A token that a one-hot p rejects is not p's own, so p stays unchanged.
        if isinstance(p, Dense):
            left = STRICT.replacement(p, q, token, first).probabilities
            p = Dense(left / left.sum(dim=-1, keepdim=True))
    return None, int(p.draw(generator))
