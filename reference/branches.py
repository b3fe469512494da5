"""Drafts that branch: p of them in one target call, what they share read once.

Kim et al. 2024 (blockwise drafts), 7.2, verify p drafts as a batch; a tree (Spector and Re 2023,
which their appendix B.1 points to) reads each shared beginning once.

Where such a draft is chosen without chance, the rule of Leviathan et al. 2023 for one-hot drafts
holds at every token: x drawn from p is the child x, if there is one, else the block's last token.
(The child c is accepted with probability p(c); else x has the law p without it.) Each token of
the text is then a draw from p, whatever was drafted.

Where the children of a token were drawn, each from its law given those before it, they are judged
one after the other (SpecInfer, Miao et al. 2023, Algorithm 2; without replacement, Sequoia, Chen et
al. 2024, Algorithm 2): the first against p by the strict rule, each next one against what its
elders' rejections leave of p, norm(max(0, p - q)); if none stands the own token is drawn from what
is left.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from reference.drafter import Draft
from reference.laws.laws import Dense, Laws, OneHot, concatenate
from reference.laws.sampling import Sampling
from reference.models.model import Model, peaks, require_finite
from reference.rules.strict import STRICT
from reference.verifier import Verified


def walk(
    target: Model,
    draft: Draft,
    text: Sequence[int],
    unseen: Tensor,
    *,
    sampling: Sampling,
    generator: torch.Generator,
) -> Verified:
    """Returns the longest path of the draft that the target's own tokens take, and what follows.

    The target's cache then holds the text and that path.

    Args:
      target: holds text but for `unseen`.
      draft: that branches.
      text: the ids so far.
      unseen: its last ids, at least 1.
      sampling: makes laws of the target's logits.
      generator: on the target's device.

    Raises:
      FloatingPointError: if the target returns logits that are NaN or infinite.
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
        # Row 0 follows the text, row i + 1 the draft's token i.
        row = 1 + accepted[-1] if accepted else 0
        path = [draft.tokens[place : place + 1] for place in accepted]
        laws.append(sampling.laws(logits[row : row + 1], text, path))
        stands, own = judged(laws[-1], draft, children[row], generator)
        if stands is None:
            break
        accepted.append(stands)
    target.keep(len(text), accepted)
    drafted = [tokens[place] for place in accepted]
    while children[row]:
        place = children[row][0]
        drafted.append(tokens[place])
        row = place + 1
    return Verified(tuple(drafted), len(accepted), own, concatenate(laws))


def judged(
    p: Laws, draft: Draft, children: Sequence[int], generator: torch.Generator
) -> tuple[int | None, int]:
    """Returns which child of a token stands, None if none does, and the id that follows the token.

    Args:
      children: of the token, as places in the draft, the first drawn first.
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
        # A token rejected under a one-hot p is not p's, and p is left.
        if isinstance(p, Dense):
            left = STRICT.replacement(p, q, token, first).probabilities
            p = Dense(left / left.sum(dim=-1, keepdim=True))
    return None, int(p.draw(generator))


def branching(drafts: Sequence[Sequence[int]], device: torch.device) -> Draft:
    """Returns drafts as one that branches, each beginning that some share held once.

    Args:
      drafts: ids, each of at least one token; the likeliest first, whose tokens come first.
    """
    tokens: list[int] = []
    parents: list[int] = []
    places: dict[tuple[int, ...], int] = {(): -1}
    for draft in drafts:
        for end in range(1, len(draft) + 1):
            beginning = tuple(draft[:end])
            if beginning not in places:
                places[beginning] = len(tokens)
                tokens.append(draft[end - 1])
                parents.append(places[beginning[:-1]])
    ids = torch.tensor(tokens, dtype=torch.int64, device=device)
    return Draft(ids, OneHot(ids), parents=tuple(parents))
