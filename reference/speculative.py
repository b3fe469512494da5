"""Speculative decoding: the one loop, into which every drafter, policy and rule fits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from reference.branches import walk
from reference.drafter import Clock, Draft, Drafter
from reference.laws.sampling import Sampling
from reference.models.model import Model, require_finite
from reference.policies.policy import Policy
from reference.records import Block
from reference.rules.strict import STRICT, Rule, Strict
from reference.stopping import Stopping
from reference.verifier import Verified, verify


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
    """Returns the result of verifying a draft in one target call.

    Leviathan et al. 2023, Algorithm 1. Afterwards the target's cache holds the text and the
    accepted tokens.

    Args:
      target: its cache holds text without its last ids (at least one).
      sampling: turns the target's logits into distributions; the drafter has its own settings.

    Raises:
      ValueError: if the draft branches and the rule is not the strict one.
      FloatingPointError: if a model returned logits that are NaN or infinite.
    """
    unseen = torch.tensor(text[target.length :], device=target.device)
    if draft.parents is not None:
        if not isinstance(rule, Strict):
            raise ValueError(f"a draft that branches needs the strict rule, got {rule.name}")
        return walk(target, draft, text, unseen, sampling=sampling, generator=generator)
    logits = target.extend(torch.cat([unseen, draft.tokens]))[len(unseen) - 1 :]
    p = sampling.laws(logits, text, [draft.tokens])
    count, own = verify(p, draft, rule=rule, generator=generator)

    # The only wait for the device in a block; ids are exact in double precision.
    q_witness = draft.tokens[:0] if draft.witness is None else draft.witness
    results = torch.cat([draft.tokens, count, own, p.witness.double(), q_witness]).tolist()
    ids, witness = results[: len(draft.tokens) + 2], results[len(draft.tokens) + 2 :]
    require_finite(witness[len(logits) :], drafter_name, len(text))
    require_finite(witness[: len(logits)], target.name, len(text))
    *drafted, accepted, token = map(int, ids)
    target.rollback(len(text) + accepted)
    return Verified(tuple(drafted), accepted, token, p)


@dataclass(frozen=True, slots=True)
class Subject:
    """A pair of target and drafter, with the settings under which they decode a text.

    sampling: turns the target's logits into distributions; the drafter has its own settings.
    stopping: when the text ends.
    rule: decides which drafted tokens are accepted.
    """

    target: Model
    drafter: Drafter
    sampling: Sampling
    stopping: Stopping
    rule: Rule = STRICT


@torch.inference_mode()
def speculative_blocks(
    subject: Subject, text: list[int], policy: Policy, generator: torch.Generator
) -> Iterator[Block]:
    """Yields the blocks of a text, one target call each (Leviathan et al. 2023, Algorithm 1).

    A block is yielded as soon as it is decoded. Batch size 1, as in the papers.

    Args:
      subject: the pair, after `reference.generation.start` on this text.
      text: the ids to continue; not changed.
      policy: decides how many tokens each block drafts, and from which distributions.
      generator: random numbers, on the target's device.
    """
    target, drafter, stopping = subject.target, subject.drafter, subject.stopping
    prefix = len(text)
    text = list(text)
    blocks: list[Block] = []
    ending = None
    while ending is None:
        clock = Clock(drafter, target)
        # A block ends with the target's token, so one token less than the rest is drafted.
        room = prefix + stopping.max_new_tokens - len(text) - 1
        gamma = min(policy.gamma(blocks), room)
        verified = verify_draft(
            target,
            drafter.propose(text, gamma, policy, generator),
            text,
            drafter_name=drafter.name,
            sampling=subject.sampling,
            rule=subject.rule,
            generator=generator,
        )
        emitted, ending = stopping.cut(text, verified.tokens, emitted=len(text) - prefix)
        text += emitted
        accepted = min(verified.accepted, len(emitted))
        blocks.append(
            Block(
                gamma, verified.drafted, tuple(emitted), accepted, *clock.seconds(), ending=ending
            )
        )
        yield blocks[-1]
