"""Predicted against measured speed-ups: one row for each draft, temperature and policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from estimator.timing.arms import (
    Speculative,
    adaptive,
    planning_generations,
    probed,
    probing,
    run_arms,
)
from estimator.timing.precision import Timing, precision_percent
from estimator.timing.rates import BASELINE, Noise, noise, priced, shrinking, timed
from estimator.timing.threads import Threads
from estimator.traces.text_traces import TextTraces
from estimator.validation.file import SpeculativeRow, max_abs, mean_abs
from estimator.validation.rows import RowEvidence, row_of
from reference.policies import Confidence, Fixed, Policy
from reference.speculative import Subject
from simulator.cost.curves import CostModel


@dataclass(frozen=True, slots=True)
class Validation:
    """The rows of one draft and temperature, and the data behind them.

    repeats: smallest number of repeats of a run.
    precision_percent: largest error of a speed-up due to the clock; None for one prompt.
    threads: the computing threads; None: PyTorch's setting was not changed.
    """

    rows: tuple[SpeculativeRow, ...]
    cost: CostModel
    noise: Noise
    repeats: int
    prompts: int
    precision_percent: float | None = None
    threads: Threads | None = None


def validate(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    policies: Mapping[str, Policy | None],
    timing: Timing,
    *,
    max_gamma: int,
) -> Validation:
    """Returns predicted and measured speed-ups of one pair under each policy.

    Args:
      prompts: ids, at least one prompt.
      policies: by the name of their arm. None is the adaptive policy, which plans with costs that
        are measured before all runs.
      timing: how often and how long runs are timed; prompts that are not reached have no rows.
      max_gamma: longest draft of policies other than the fixed ones.
    """
    planned: dict[str, Policy] = {}
    for arm, policy in policies.items():
        if policy is None:
            policy = adaptive(subject, prompts, timing, max_gamma=max_gamma)
        planned[arm] = policy
    arms = {arm: Speculative(policy) for arm, policy in planned.items()}
    runs = run_arms(subject, prompts, probing(_priced(policies, max_gamma)) | arms, timing)
    # There may have been no time for all prompts.
    prompts = prompts[: len(runs[BASELINE])]
    best = timed(runs)
    clock = noise(best)
    cost = priced(best)
    texts = TextTraces(
        subject, prompts, _longest(policies, max_gamma), ahead=max(_stopped(policies), default=0)
    )
    gammas = [gamma for gamma in _fixed(policies) if gamma > 0]
    evidence = RowEvidence(texts, runs, best, cost, clock, shrinking(best, gammas))
    rows = tuple(
        row_of(evidence, arm, policy, np.random.default_rng((timing.seed, 2)))
        for arm, policy in planned.items()
    )
    return Validation(
        rows,
        cost,
        clock,
        repeats=len(runs[BASELINE][-1]),
        prompts=len(prompts),
        precision_percent=precision_percent(best),
    )


def generations(
    prompts: Sequence[Sequence[int]],
    policies: Mapping[str, Policy | None],
    *,
    max_gamma: int,
    repeats: int,
) -> int:
    """Returns how often `validate` calls progress, if all repeats are needed."""
    planning = list(policies.values()).count(None) * planning_generations(prompts, max_gamma)
    arms = 2 + len(probed(_priced(policies, max_gamma))) + len(policies)
    return planning + len(prompts) * repeats * arms


def _fixed(policies: Mapping[str, Policy | None]) -> list[int]:
    return [policy.value for policy in policies.values() if isinstance(policy, Fixed)]


def _stopped(policies: Mapping[str, Policy | None]) -> list[int]:
    """Returns the longest drafts of policies that stop by confidence."""
    return [each.most for each in policies.values() if isinstance(each, Confidence)]


def _longest(policies: Mapping[str, Policy | None], max_gamma: int) -> int:
    gammas = _fixed(policies)
    return max([*gammas, max_gamma] if len(gammas) < len(policies) else gammas)


def _priced(policies: Mapping[str, Policy | None], max_gamma: int) -> list[int]:
    drafted = [gamma for gamma in _fixed(policies) if gamma > 0]
    for most in _stopped(policies):  # whose blocks are of any length up to that
        drafted += [*(2**octave for octave in range(most.bit_length())), most]
    return drafted or [_longest(policies, max_gamma)]


def summary(validations: Sequence[Validation]) -> dict[str, Any]:
    """Returns the summary of all rows for JSON: mean and largest errors, noise, repeats, threads.

    A number without predictions, or for one prompt, is None; so is free_cores if the user chose
    the threads.
    """
    errors = [row.error_percent for validation in validations for row in validation.rows]
    noises = [validation.noise for validation in validations]
    precisions = [validation.precision_percent for validation in validations]
    known = [percent for percent in precisions if percent is not None]
    threads = validations[0].threads
    return {
        "mean_abs_error_percent": mean_abs(errors),
        "max_abs_error_percent": max_abs(errors),
        "noise_percent": max(noise.percent for noise in noises),
        "noise_within_percent": max(noise.within_percent for noise in noises),
        "quiet": all(noise.quiet for noise in noises),
        "precision_percent": None if len(known) < len(validations) else max(known),
        "repeats": min(validation.repeats for validation in validations),
        "threads": None if threads is None else threads.count,
        "free_cores": None if threads is None else threads.free,
    }
