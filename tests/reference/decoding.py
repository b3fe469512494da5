"""Decoding as most tests want it: all settings in a row, and chance that nobody else draws from."""

from collections.abc import Sequence

import torch

from reference.drafter import Drafter, score_text
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.model import Model
from reference.policies import Policy
from reference.records import Generation, Stopping
from reference.rules import STRICT, Rule
from reference.scoring import ScoreOptions, Scores
from reference.speculative import Subject, plain_session, speculative_session
from tests.reference.tabular import Table, TabularModel


def alone(
    target: Model,
    prompt: Sequence[int],
    sampling: Sampling,
    stopping: Stopping,
    *,
    generator: torch.Generator | None = None,
) -> Generation:
    """Returns the target's own continuation."""
    chance = torch.Generator() if generator is None else generator
    return plain_session(
        target, prompt, sampling=sampling, stopping=stopping, generator=chance
    ).finished()


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


def speculate_models(
    target: Model,
    draft: Model,
    prompt: Sequence[int],
    sampling: Sampling,
    policy: Policy,
    stopping: Stopping,
    *,
    rule: Rule = STRICT,
    seed: int | None = None,
) -> Generation:
    """Returns the continuation by two models, of which the draft samples as the target does."""
    drafter = ModelDrafter(draft, sampling, target.vocabulary)
    chance = None if seed is None else torch.Generator().manual_seed(seed)
    return speculate(
        target, drafter, prompt, sampling, policy, stopping, rule=rule, generator=chance
    )


def speculate_tables(
    target: Table,
    draft: Table,
    sampling: Sampling,
    policy: Policy,
    new_tokens: int,
    *,
    rule: Rule = STRICT,
    generator: torch.Generator | None = None,
) -> Generation:
    """Returns the continuation of token 0 by two tables of three tokens."""
    drafter = ModelDrafter(TabularModel(draft, 3), sampling, 3)
    model, stopping = TabularModel(target, 3), Stopping(new_tokens)
    return speculate(
        model, drafter, [0], sampling, policy, stopping, rule=rule, generator=generator
    )


def scored(
    target: Model,
    drafter: Drafter,
    prompt: Sequence[int],
    tokens: Sequence[int],
    gamma: int,
    sampling: Sampling,
    *,
    own: Sampling | None = None,
    leniences: Sequence[float] = (),
) -> Scores:
    """Returns the scores of a text for one setting of the draft: the target's, or its own."""
    options = ScoreOptions([sampling if own is None else own], leniences, gamma)
    [scores] = score_text(target, drafter, prompt, tokens, options, sampling=sampling)
    return scores


def require_accepted(found: Generation, scores: Scores, gamma: int) -> None:
    """Fails unless a text's scores of 0 and 1 give the accepted tokens of each of its blocks."""
    place, length = 0, len(found.tokens)
    for block in found.blocks:
        along = range(min(gamma, length - place))
        path = [int(scores.ratio[place + offset, offset]) for offset in along]
        assert block.accepted == min([*path, 0].index(0), length - place - 1)
        place += len(block.tokens)
