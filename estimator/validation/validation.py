"""Predicted against measured speed-ups of this project's own decoder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimator.loading.pairs import load, parse_policies
from estimator.progress import SILENT, Progress
from estimator.requests import GAMMAS, Validate
from estimator.rule_names import acceptance_rule
from estimator.settings import draft_sampling
from estimator.timing import arms
from estimator.timing.batched import Prompts
from estimator.timing.precision import Timing, precision_percent, timings
from estimator.timing.rates import BASELINE, Noise, noise, out_of_order, priced, timed
from estimator.timing.threads import Threads, computing, require_one_process
from estimator.traces.text_traces import TextTraces
from estimator.validation.file import SpeculativeRow, max_abs, mean_abs
from estimator.validation.rows import RowEvidence, row_of
from reference.policies import Confidence, Fixed, Policy
from reference.speculative import Subject
from simulator.cost.curves import CostModel

# By the names of their arms; None is the adaptive policy.
Policies = Mapping[str, Policy | None]


@dataclass(frozen=True, slots=True)
class Validation:
    """The rows of one draft and temperature, and the measurements that they are computed from.

    repeats: how often each run was repeated; for unequal numbers, the smallest.
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


def policies_of(request: Validate) -> Policies:
    """Returns the policies of a request by the names of their arms."""
    gammas = GAMMAS if request.gammas is None else request.gammas
    return parse_policies(request.policy_names, gammas=gammas, max_gamma=request.longest)


def validations(request: Validate, progress: Progress = SILENT) -> Iterator[Validation]:
    """Yields a validation for each draft and temperature, as soon as it is measured."""
    require_one_process("validate")
    with computing(request.models.device, request.threads) as threads:
        policies, most = policies_of(request), request.longest
        rule = acceptance_rule(request.verification, request.lenience)
        targets = [
            request.sampling.at(temperature) for temperature in dict.fromkeys(request.temperatures)
        ]
        drafting = [draft_sampling(sampling, request.draft_temperature) for sampling in targets]
        fixed = [policy.value for policy in policies.values() if isinstance(policy, Fixed)]
        loaded = load(
            request.models,
            request.text,
            sampling=request.sampling,
            compiling=request.compiling,
            gammas=fixed if len(fixed) == len(policies) else [*fixed, most],
        )
        subjects = [
            Subject(loaded.target, drafter_of(drafted_by), sampling, loaded.stopping, rule)
            for drafter_of in loaded.drafters.values()
            for sampling, drafted_by in zip(targets, drafting, strict=True)
        ]
        for subject in subjects:
            arms.require_positions(subject, loaded.prompts)
        repeats = request.timing.repeats
        planned = generations(loaded.prompts, policies, max_gamma=most, repeats=repeats)
        progress.expect(len(subjects) * planned)
        every = timings(request, count=len(subjects), planned=planned, progress=progress)
        for timing, subject in zip(every, subjects, strict=True):
            validation = validate(subject, loaded.prompts, policies, timing, max_gamma=most)
            yield replace(validation, threads=threads)


def validate(
    subject: Subject, prompts: Prompts, policies: Policies, timing: Timing, *, max_gamma: int
) -> Validation:
    """Returns predicted and measured speed-ups of one pair under each policy.

    prompts: if time runs out, the result is for the first of them.
    policies: policies by name. None is the adaptive policy, whose costs are measured first.
    max_gamma: longest draft of policies that are not fixed.
    """
    planned = {
        arm: arms.adaptive(subject, prompts, timing, max_gamma=max_gamma)
        if policy is None
        else policy
        for arm, policy in policies.items()
    }
    stopped = [policy.most for policy in planned.values() if isinstance(policy, Confidence)]
    gammas, longest = _lengths(policies, max_gamma)
    drafting = {arm: arms.Speculative(policy) for arm, policy in planned.items()}
    runs = arms.run_arms(subject, prompts, arms.probing(gammas) | drafting, timing)
    # There may have been no time for all prompts.
    prompts = prompts[: len(runs[BASELINE])]
    best = timed(runs)
    clock, cost = noise(best), priced(best)
    texts = TextTraces(subject, prompts, longest, ahead=max(stopped, default=0))
    fixed = [policy.value for policy in planned.values() if isinstance(policy, Fixed)]
    slower = out_of_order(best, [gamma for gamma in fixed if gamma > 0])
    evidence = RowEvidence(texts, runs, best, cost, clock, slower)
    rows = tuple(
        row_of(evidence, arm, policy, np.random.default_rng((timing.seed, 2)))
        for arm, policy in planned.items()
    )
    repeats, exact = len(runs[BASELINE][-1]), precision_percent(best)
    return Validation(rows, cost, clock, repeats, len(prompts), exact)


def generations(prompts: Prompts, policies: Policies, *, max_gamma: int, repeats: int) -> int:
    """Returns the number of texts that `validate` decodes if all repeats run."""
    planned = list(policies.values()).count(None) * arms.planning_generations(prompts, max_gamma)
    gammas, _ = _lengths(policies, max_gamma)
    return planned + len(prompts) * repeats * (2 + len(arms.probed(gammas)) + len(policies))


def _lengths(policies: Policies, max_gamma: int) -> tuple[list[int], int]:
    """Returns the draft lengths whose costs are measured, and the longest draft of any policy."""
    fixed = [policy.value for policy in policies.values() if isinstance(policy, Fixed)]
    longest = max([*fixed, max_gamma] if len(fixed) < len(policies) else fixed)
    gammas = [gamma for gamma in fixed if gamma > 0]
    for policy in policies.values():
        if isinstance(policy, Confidence):  # whose blocks are of any length up to its longest
            gammas += arms.probed_gammas(policy.most)
    return gammas or [longest], longest


def summary(validations: Sequence[Validation]) -> dict[str, Any]:
    """Returns the summary of all rows for JSON: mean and largest errors, noise, repeats, threads.

    Errors are None without predictions; numbers that need several prompts are None for one prompt.
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
