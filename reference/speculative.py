"""Speculative decoding: the one loop that every drafter, policy and rule plugs into."""

import time
from collections.abc import Iterator

import torch

from reference.acceptance import Rule, Strict
from reference.drafter import Drafter
from reference.model import Model, finite_rows, require_finite
from reference.policies import Policy
from reference.records import Block
from reference.sampling import Sampling
from reference.stopping import Stopping
from reference.verifier import verify

STRICT = Strict()


def speculative_blocks(
    target: Model,
    drafter: Drafter,
    text: list[int],
    *,
    sampling: Sampling,
    policy: Policy,
    stopping: Stopping,
    generator: torch.Generator,
    rule: Rule = STRICT,
) -> Iterator[Block]:
    """Yields one block for each target call: Algorithm 1 of Leviathan et al. 2023, repeated.

    Batch size 1, as in the papers.

    Args:
      target, drafter: started on this text (`reference.generation.begin`).
      text: the ids to continue; not changed.
      sampling: makes the target's law of its logits; the drafter has its own.
      policy: how many tokens each block drafts.
      stopping: when the text ends.
      generator: on the target's device.
      rule: which drafted tokens stand.

    Raises:
      FloatingPointError: if a model returns logits that are NaN or infinite.
    """
    prefix = len(text)
    text = list(text)
    blocks: list[Block] = []
    ending = None
    while ending is None:
        began = time.perf_counter()
        drafting, verifying = drafter.forward_seconds, target.forward_seconds
        # A text's last token is the target's own: drafting it would be wasted.
        room = prefix + stopping.max_new_tokens - len(text) - 1
        gamma = min(policy.gamma(blocks), room)
        draft = drafter.propose(text, gamma, policy, generator)

        last = torch.tensor(text[-1:], device=target.device)
        logits = target.extend(torch.cat([last, draft.tokens]))
        p = sampling.laws(logits, text, draft.tokens)
        count, own = verify(p, draft, rule=rule, generator=generator)

        # The block's one wait for the device.
        q_finite = draft.tokens.new_ones(0) if draft.finite is None else draft.finite
        outcome = [draft.tokens, count, own, finite_rows(logits), q_finite]
        results = torch.cat(outcome).tolist()
        drafted, results = results[: len(draft.tokens)], results[len(draft.tokens) :]
        require_finite(results[2 + len(logits) :], drafter.name, len(text))
        require_finite(results[2 : 2 + len(logits)], target.name, len(text))
        accepted, token = results[:2]

        target.rollback(len(text) + accepted)
        emitted, ending = stopping.cut(len(text) - prefix, [*drafted[:accepted], token])
        text += emitted
        draft_seconds = drafter.forward_seconds - drafting
        verify_seconds = target.forward_seconds - verifying
        block = Block(
            gamma=gamma,
            drafted=tuple(drafted),
            tokens=tuple(emitted),
            accepted=min(accepted, len(emitted)),
            draft_seconds=draft_seconds,
            verify_seconds=verify_seconds,
            other_seconds=time.perf_counter() - began - draft_seconds - verify_seconds,
            ending=ending,
        )
        blocks.append(block)
        yield block
