"""Settings of a validation by this project's own decoder, and the function that runs it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from estimator.loading.pairs import draft_names, load, require_rule
from estimator.loading.policies import STOPPING, parse_policies
from estimator.progress import SILENT, Progress
from estimator.rule_names.kind import VERIFICATION, acceptance_rule
from estimator.settings import (
    FIXED,
    MAX_GAMMA,
    TimedPair,
    draft_sampling,
    require_read_lengths,
)
from estimator.timing.arms import require_positions
from estimator.timing.precision import timings
from estimator.timing.processes import require_one_process
from estimator.timing.threads import computing
from estimator.validation.validation import Validation, generations, validate
from reference.drafters.trees import TreeDrafter
from reference.policies import Fixed, Policy
from reference.speculative import Subject

GAMMAS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validate(TimedPair):
    """Settings of a validation: the drafts, temperatures and policies to predict and measure.

    draft_temperature: temperature of the draft; None: the target's.
    compiling: off, on or try.
    policy_names: fixed, heuristic, confidence:P, product:P or adaptive.
    gammas: draft lengths of the fixed policy; None: 1, 2, 4, 8.
    max_gamma: longest draft of other policies; None: 16.
    verification, lenience: how drafts are verified; None: without loss.

    Raises ValueError if a draft length is given that no policy reads.
    """

    draft_temperature: float | None = None
    compiling: str = "off"
    policy_names: tuple[str, ...] = (FIXED,)
    gammas: tuple[int, ...] | None = None
    max_gamma: int | None = None
    verification: str = VERIFICATION
    lenience: float | None = None
    temperatures: tuple[float, ...] = (0.0, 1.0)

    def __post_init__(self) -> None:
        require_read_lengths(self.policy_names, self.gammas, self.max_gamma)

    @property
    def longest(self) -> int:
        """Longest draft of policies other than the fixed one."""
        return MAX_GAMMA if self.max_gamma is None else self.max_gamma

    @property
    def policies(self) -> dict[str, Policy | None]:
        """The policies by name; None for the adaptive one."""
        gammas = GAMMAS if self.gammas is None else self.gammas
        return parse_policies(self.policy_names, gammas=gammas, max_gamma=self.longest)

    @property
    def replayed(self) -> bool:
        """Whether replay predicts a row: its policy must be known, and lossless or greedy."""
        rule = acceptance_rule(self.verification, self.lenience)
        known = [name == FIXED or name.partition(":")[0] in STOPPING for name in self.policy_names]
        return any(known) and (rule.lossless or 0 in self.temperatures)


def validations(request: Validate, progress: Progress = SILENT) -> Iterator[Validation]:
    """Yields the rows of each draft at each temperature as soon as they are measured."""
    require_one_process("validate")
    with computing(request.models.device, request.threads) as threads:
        for validation in _validations(request, progress):
            yield replace(validation, threads=threads)


def _validations(request: Validate, progress: Progress) -> Iterator[Validation]:
    policies = request.policies
    rule = acceptance_rule(request.verification, request.lenience)
    targets = [request.sampling.at(each) for each in dict.fromkeys(request.temperatures)]
    drafting = [draft_sampling(sampling, request.draft_temperature) for sampling in targets]
    require_rule(draft_names(request.models), rule)
    fixed = [policy.value for policy in policies.values() if isinstance(policy, Fixed)]
    loaded = load(
        request.models,
        request.text,
        sampling=request.sampling,
        compiling=request.compiling,
        gammas=fixed if len(fixed) == len(policies) else [*fixed, request.longest],
    )
    prompts = loaded.prompts
    subjects = [
        Subject(loaded.target, drafter_of(drafted_by), sampling, loaded.stopping, rule)
        for drafter_of in loaded.drafters.values()
        for sampling, drafted_by in zip(targets, drafting, strict=True)
    ]
    for subject in subjects:
        require_foretold(subject, list(policies.values()))
        require_positions(subject, prompts)
    planned = generations(
        prompts, policies, max_gamma=request.longest, repeats=request.timing.repeats
    )
    progress.expect(len(subjects) * planned)
    every = timings(request, count=len(subjects), planned=planned, progress=progress)
    for timing, subject in zip(every, subjects, strict=True):
        yield validate(subject, prompts, policies, timing, max_gamma=request.longest)


def require_foretold(subject: Subject, policies: Sequence[Policy | None]) -> None:
    """Raises ValueError for trees whose target calls replay cannot predict."""
    drafter = subject.drafter
    if not isinstance(drafter, TreeDrafter):
        return
    if len(policies) > 1 or not isinstance(policies[0], Fixed):
        raise ValueError(
            f"gamma must be one number for {drafter.name}, its depth, got {len(policies)} policies"
        )
    if not drafter.sampling.greedy:
        raise ValueError(
            f"draft_temperature must be 0 for {drafter.name}, got "
            f"{drafter.sampling.temperature:g}: replay cannot predict trees of drawn "
            "tokens; specplan generate runs them"
        )
