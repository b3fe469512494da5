"""Drafting token by token: the one loop of every drafter whose draft is a line of tokens."""

from collections.abc import Callable

import torch
from torch import Tensor

from reference.drafter import Draft, no_draft
from reference.laws.laws import Laws, concatenate
from reference.policies.policy import Policy


def draft_tokens(
    law_after: Callable[[list[Tensor]], Laws],
    limit: int,
    policy: Policy,
    generator: torch.Generator,
) -> Draft:
    """Returns tokens drawn one after the other, until the policy stops.

    The policy sees each law before the draw, each token after it. A token once drawn is part of the
    draft.

    Args:
      law_after: the law of one position, given the tokens drafted before, each of shape (1,).
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
    nothing = no_draft(generator.device)
    if not laws:
        return nothing
    drafted, computed = torch.cat([nothing.tokens, *tokens]), concatenate(laws)
    return Draft(drafted, computed.first(len(drafted)), computed.witness)


def draft_from(laws: Laws, limit: int, policy: Policy, generator: torch.Generator) -> Draft:
    """Returns tokens drawn from laws of consecutive positions, none of which depends on a draw.

    Args:
      laws: of at least `limit` positions.
      limit, policy, generator: as for `draft_tokens`.
    """
    places = torch.arange(limit, device=laws.device).split(1)
    return draft_tokens(lambda tokens: laws.at(places[len(tokens)]), limit, policy, generator)
