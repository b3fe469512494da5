"""The drafting loop that all drafters without branches share: token by token."""

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
    """Returns tokens drawn one by one until the policy stops, or `limit` is reached.

    The policy sees each distribution before the draw and each token after it. Once drawn, a token
    is part of the draft.

    Args:
      law_after: returns the distribution at one position, given the tokens drafted so far (each of
        shape (1,)).
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
    """Returns tokens drawn from given distributions, none of which depends on an earlier draw.

    Args:
      laws: distributions of at least `limit` consecutive positions.
      limit, policy, generator: see `draft_tokens`.
    """
    places = torch.arange(limit, device=laws.device).split(1)
    return draft_tokens(lambda tokens: laws.at(places[len(tokens)]), limit, policy, generator)
