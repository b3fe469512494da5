"""Decoding as most tests want it: all settings in a row, and chance that nobody else draws from."""

from collections.abc import Sequence

import torch

from reference.drafter import Drafter
from reference.laws import Sampling
from reference.models.model import Model
from reference.policies import Policy
from reference.records import Generation
from reference.rules import STRICT, Rule
from reference.speculative import Subject, decode, speculative_session
from reference.stopping import Stopping


def alone(
    target: Model,
    prompt: Sequence[int],
    sampling: Sampling,
    stopping: Stopping,
    *,
    generator: torch.Generator | None = None,
) -> Generation:
    """Returns the target's own continuation."""
    if generator is None:
        generator = torch.Generator()
    return decode(target, prompt, sampling=sampling, stopping=stopping, generator=generator)


def speculate(
    target: Model,
    drafter: Drafter,
    prompt: Sequence[int],
    sampling: Sampling,
    policy: Policy,
    stopping: Stopping,
    *,
    rule: Rule = STRICT,
    generator: torch.Generator | None = None,
) -> Generation:
    """Returns the continuation by target and drafter."""
    subject = Subject(target, drafter, sampling, stopping, rule)
    chance = torch.Generator() if generator is None else generator
    return speculative_session(subject, prompt, policy, chance).finished()
