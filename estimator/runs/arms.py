"""The interleaved runs of a validation: baseline, baseline again, cost probes, and each policy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimator.seeding import seeded
from reference.drafter import Drafter
from reference.generation import decode, decode_speculatively
from reference.laws.sampling import Sampling
from reference.models.model import Model
from reference.policies.policy import Fixed, Policy
from reference.records import Generation
from reference.rules.acceptance import Rule
from reference.speculative import STRICT
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


def run_arms(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    policies: Mapping[str, Policy],
    *,
    probe_gammas: Sequence[int],
    repeats: int,
    seed: int,
    progress: Callable[[], object],
    enough: Callable[[Runs], bool] = lambda _: False,
    rules: Mapping[str, Rule] | None = None,
    probe: Callable[[int], Policy] = Fixed,
) -> Runs:
    """Returns every arm's generations, for each prompt and repeat.

    For each repeat and prompt all arms run one after the other in random order, so that a drift
    of the machine meets them all alike. An arm's text depends on seed, arm and prompt, not on the
    repeat: repeats differ in time alone.

    Args:
      subject: the pair and its settings.
      prompts: ids.
      policies: by the name of their arm; not "baseline", "again" or "probe ...".
      probe_gammas: draft lengths whose costs are measured, each by texts of its own.
      repeats: the most, at least 1.
      seed: of texts and order.
      progress: called after each generation.
      enough: asked after each repeat of all prompts whether it was the last.
      rules: by arm, of those that have another than the subject's.
      probe: the policy of the probing texts of a draft length.
    """
    speculative: dict[str, Policy] = {
        **{f"{PROBE}{gamma}": probe(gamma) for gamma in probed(probe_gammas)}, **policies
    }
    arms = [BASELINE, AGAIN, *speculative]

    def decode_arm(arm: str, prompt: int, stopping: Stopping) -> Generation:
        generator = seeded(subject.target.device, seed, prompt, arms.index(arm))
        if arm in (BASELINE, AGAIN):
            return decode(
                subject.target,
                prompts[prompt],
                sampling=subject.sampling,
                stopping=stopping,
                generator=generator,
            )
        return decode_speculatively(
            subject.target,
            subject.drafter,
            prompts[prompt],
            sampling=subject.sampling,
            policy=speculative[arm],
            stopping=stopping,
            generator=generator,
            rule=subject.rule if rules is None else rules.get(arm, subject.rule),
        )

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


def probed(gammas: Sequence[int]) -> list[int]:
    """Returns the draft lengths that price these: 0 joins a lone one, to tell what a step adds."""
    distinct = sorted(set(gammas))
    return distinct if len(distinct) > 1 else sorted({0, *distinct})
