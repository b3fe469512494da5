"""Verifies a draft that branches (a tree of tokens) in one target call.

Several drafts share a pass, and the target reads each shared prefix once (Spector and Re 2023;
Kim et al. 2024, section 7.2, verify several drafts as a batch).

If the draft was chosen without randomness, one token x is drawn from p at each step. If x is one of
the children, that child is accepted and the walk goes on from it; else x ends the block. So every
token of the text is a draw from p, whichever tokens were drafted.

If the children of a token were drawn, each from its distribution given the earlier children, they
are judged in that order (SpecInfer, Miao et al. 2023, Algorithm 2; without replacement, Sequoia,
Chen et al. 2024, Algorithm 2). The strict rule compares the first child with p. After a rejection
p becomes norm(max(0, p - q)), and the next child is compared with that. If all children are
rejected, the target's token is drawn from the final p.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from reference.drafter import Draft
from reference.laws.laws import Dense, Laws, OneHot, concatenate
from reference.laws.sampling import Sampling
from reference.models.model import Model, peaks, require_finite
from reference.rules.rule import STRICT
from reference.verify import Verified


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

    Afterwards the target's cache holds the text and that path.

    Args:
      unseen: the text's last ids, which the target has not read; at least 1.
      sampling: the target's settings.
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
        child, own = judge_children(laws[-1], draft, children[row], generator)
        if child is None:
            break
        accepted.append(child)
    target.keep(len(text), accepted)
    drafted = [tokens[place] for place in accepted]
    while children[row]:
        place = children[row][0]
        drafted.append(tokens[place])
        row = place + 1
    return Verified(tuple(drafted), len(accepted), own, concatenate(laws))


def judge_children(
    p: Laws, draft: Draft, children: Sequence[int], generator: torch.Generator
) -> tuple[int | None, int]:
    """Returns which child of a token is accepted (None: no child), and the id after the token.

    Args:
      p: the target's distribution after the token.
      children: indices of the token's children in the draft, in the order in which they were drawn.
    """
    if isinstance(draft.q, OneHot):
        own = int(p.draw(generator))
        tokens = draft.tokens.tolist()
        return next((place for place in children if tokens[place] == own), None), own
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


def merge_drafts(drafts: Sequence[Sequence[int]], device: torch.device) -> Draft:
    """Returns several drafts as one branching draft, which holds each shared prefix once.

    drafts: ids, at least one token each; the likeliest draft first.
    """
    tokens: list[int] = []
    parents: list[int] = []
    places: dict[tuple[int, ...], int] = {(): -1}
    for draft in drafts:
        for end in range(1, len(draft) + 1):
            prefix = tuple(draft[:end])
            if prefix not in places:
                places[prefix] = len(tokens)
                tokens.append(draft[end - 1])
                parents.append(places[prefix[:-1]])
    ids = torch.tensor(tokens, dtype=torch.int64, device=device)
    return Draft(ids, OneHot(ids), parents=tuple(parents))
