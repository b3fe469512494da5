"""The interleaved runs of a validation: baseline, baseline again, cost probes, and each policy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from estimator.seeding import seeded
from reference.drafter import Drafter
from reference.generation import decode, decode_speculatively
from reference.laws.sampling import Sampling
from reference.models.model import Model
from reference.policies.policy import Fixed, Policy
from reference.records import Generation
from reference.rules.rule import Rule
from reference.rules.strict import STRICT
from reference.stopping import Stopping

BASELINE, AGAIN, PROBE = "baseline", "again", "probe "
WARM_UP_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Subject:
    """What one validation decodes with.

    target, drafter: the pair.
    sampling, stopping, rule: the settings of every run.
    """

    target: Model
    drafter: Drafter
    sampling: Sampling
    stopping: Stopping
    rule: Rule = STRICT


Runs = dict[str, list[list[Generation]]]   # arm -> prompt -> repeat
Decoder = Callable[[Sequence[int], Stopping, torch.Generator], Generation]
"""A way to decode: of a prompt's ids, when the text ends and where chance comes from."""


def run_arms(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    speculative: Mapping[str, Decoder],
    *,
    repeats: int,
    seed: int,
    progress: Callable[[], object],
    enough: Callable[[Runs], bool] = lambda _: False,
) -> Runs:
    """Returns the generations of every arm and of the target alone, by prompt and repeat.

    For each repeat and prompt all arms run one after the other in random order, so that a drift
    of the machine meets them all alike. An arm's text depends on seed, arm and prompt, not on the
    repeat: repeats differ in time alone.

    Args:
      subject: the pair and its settings.
      prompts: ids.
      speculative: by name, not "baseline" or "again"; see `probing` and `under`.
      repeats: the most, at least 1.
      seed: of texts and order.
      progress: called after each generation.
      enough: asked after each repeat of all prompts whether it was the last.
    """
    decoders = {BASELINE: alone(subject), AGAIN: alone(subject), **speculative}
    arms = list(decoders)

    def decode_arm(arm: str, prompt: int, stopping: Stopping) -> Generation:
        generator = seeded(subject.target.device, seed, prompt, arms.index(arm))
        return decoders[arm](prompts[prompt], stopping, generator)

    warm_up = Stopping(min(WARM_UP_TOKENS, subject.stopping.max_new_tokens))
    for arm in arms:
        decode_arm(arm, 0, warm_up)
    order = np.random.default_rng(seed)
    runs: Runs = {arm: [[] for _ in prompts] for arm in arms}
    for _ in range(repeats):
        for prompt in range(len(prompts)):
            for number in order.permutation(len(arms)):
                arm = arms[number]
                runs[arm][prompt].append(decode_arm(arm, prompt, subject.stopping))
                progress()
        if enough(runs):
            break
    return runs


def alone(subject: Subject) -> Decoder:
    """Returns decoding by the target alone."""

    def decoded(
        prompt: Sequence[int], stopping: Stopping, generator: torch.Generator
    ) -> Generation:
        return decode(
            subject.target,
            prompt,
            sampling=subject.sampling,
            stopping=stopping,
            generator=generator,
        )

    return decoded


def under(subject: Subject, policy: Policy) -> Decoder:
    """Returns speculative decoding under a policy."""

    def decoded(
        prompt: Sequence[int], stopping: Stopping, generator: torch.Generator
    ) -> Generation:
        return decode_speculatively(
            subject.target,
            subject.drafter,
            prompt,
            sampling=subject.sampling,
            policy=policy,
            stopping=stopping,
            generator=generator,
            rule=subject.rule,
        )

    return decoded


def probing(subject: Subject, gammas: Sequence[int]) -> dict[str, Decoder]:
    """Returns the arms that measure costs, by name: texts of one draft length each."""
    return {f"{PROBE}{gamma}": under(subject, Fixed(gamma)) for gamma in probed(gammas)}


def probed(gammas: Sequence[int]) -> list[int]:
    """Returns the draft lengths that price these: 0 joins a lone one, to tell what a step adds."""
    distinct = sorted(set(gammas))
    return distinct if len(distinct) > 1 else sorted({0, *distinct})
