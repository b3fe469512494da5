"""Profiles: the measurements of a pair of models in one typed record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from estimator.profiles.parts import (
    Alpha,
    Count,
    DraftAcceptance,
    Estimate,
    Gamma,
    NotNegative,
    Positive,
    Rate,
    Setup,
)
from estimator.traces.traces import DraftSampling, Verification
from simulator.cost.curves import CostModel


@dataclass(frozen=True, slots=True)
class AlphaBin:
    """The mean acceptance probability over a range of text positions that begins at `first`."""

    first: Count
    alpha: Rate
    tokens: Count


@dataclass(frozen=True, slots=True)
class Improvement:
    """Speed-up at one γ: by replay of recorded texts, with interval, and for i.i.d. acceptance."""

    replay: Positive
    iid: Positive
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """Results for one group of prompts, by replay of its texts at the times measured on them.

    tokens_per_call, improvement_factor: tokens per target call and speed-up, by γ.
    optimal_gamma: the γ with the largest speed-up; 0: do not speculate.
    accepted_by_position: see `DraftAcceptance`.
    """

    alpha: Alpha
    tokens_per_call: Mapping[Gamma, Estimate]
    improvement_factor: Mapping[Gamma, Estimate]
    optimal_gamma: Count
    accepted_by_position: tuple[Estimate, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Three fields of a profile, computed without prompt 1, without prompt 2, … (jackknife).

    The fields are empty for a single prompt.
    """

    alpha: tuple[Rate, ...]
    c: tuple[NotNegative, ...]
    improvement_factor: Mapping[Gamma, tuple[Positive, ...]]


@dataclass(frozen=True, slots=True)
class LoadCosts:
    """Times of passes over a batch of sequences, in milliseconds.

    context: tokens in the cache of each sequence.
    target_ms: a target pass over n tokens of each sequence, by n.
    draft_ms: mean of a draft step of all sequences, in the longest draft.
    drafting_ms: γ draft steps of all sequences, by γ.
    spread_percent: half the interquartile range of a pass's repeats, in per cent of the median, for
      the pass with the largest spread.
    """

    batch: Gamma
    context: Gamma
    target_ms: Mapping[Gamma, Positive]
    draft_ms: NotNegative
    drafting_ms: Mapping[Gamma, NotNegative]
    spread_percent: NotNegative


@dataclass(frozen=True, slots=True)
class TimesMs:
    """Times of one sequence, in milliseconds.

    target_ms: a target pass over n tokens, by n; t_p(n).
    draft_ms: one draft step, t_q.
    drafting_ms: drafting γ tokens, by γ, where it was timed; t_d(γ).
    overhead_ms: the rest of a block, t_o.
    baseline_overhead_ms: the rest of a step without a draft, t_b.
    c: time of a draft step over time of a target step; None if nothing was drafted.
    """

    target_ms: Mapping[Gamma, Positive]
    draft_ms: NotNegative
    drafting_ms: Mapping[Count, NotNegative] = field(default_factory=dict)
    overhead_ms: NotNegative = 0.0
    baseline_overhead_ms: NotNegative = 0.0
    c: Estimate | None = None

    @classmethod
    def of(cls, cost: CostModel, c: Estimate | None = None) -> TimesMs:
        draft, overhead = 1e3 * cost.draft_seconds, 1e3 * cost.overhead_seconds
        passes, drafting = milliseconds(cost.target_seconds), milliseconds(cost.draft_curve)
        return cls(passes, draft, drafting, overhead, 1e3 * cost.baseline_overhead_seconds, c)


@dataclass(frozen=True, slots=True)
class TextDetails:
    """Detailed results, which only specplan's own decoder can measure.

    by_context: results by prompt length in tokens, in octaves ("64-127"), ascending.
    prefill_ms: median milliseconds of the pass over a prompt, for the target and for both models.
    iid_check: how much acceptances depend on each other: the correlation of β = Σ min(p, q) at
      neighbouring positions (null if β never varies), and the tokens per call by γ, from replay and
      for i.i.d. acceptance.
    """

    alpha_by_position_in_text: tuple[AlphaBin, ...] = ()
    by_category: Mapping[str, Workload] = field(default_factory=dict)
    by_context: Mapping[str, Workload] = field(default_factory=dict)
    prefill_ms: Mapping[str, NotNegative] = field(default_factory=dict)
    iid_check: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """How far the times of a profile can be trusted.

    noise_percent: difference between two measurements of the baseline.
    noise_within_percent: largest difference that timing errors are expected to cause.
    quiet: whether both are small and no time is impossible; None if not known.
    doubts: sentences about impossible times. If there are any, no time can be trusted.
    repeats: how often each run was repeated; for unequal numbers, the smallest.
    """

    noise_percent: NotNegative | None = None
    noise_within_percent: NotNegative | None = None
    quiet: bool | None = None
    doubts: tuple[str, ...] = ()
    repeats: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The measurements of a target and a draft, as `profile_file` writes and reads them.

    draft_sampling: how drafts were sampled in the measurement. `alpha` is their acceptance rate.
    draftings: acceptance by `DraftSampling`; contains at least `draft_sampling`.
    verification: how drafts were verified when times and speed-ups were measured.
    times: times at batch size 1; None if only acceptance was measured.
    c_hat: operations per token of the draft over operations of the target; None if unknown.
    details: None if another decoder than specplan's own decoded the prompts.
    optimal_gamma, recommended_gamma: the best γ by replay, and the advised γ (`best.plan_of`); 0:
      do not speculate; None if the profile has no costs.
    left_out: None if the jackknife values were not saved.
    load: times of passes by batch size. Time outside passes was measured at batch size 1 only.
    """

    alpha: Alpha
    draft_sampling: DraftSampling
    draftings: Mapping[DraftSampling, DraftAcceptance]
    setup: Setup
    verification: Verification = "token"
    times: TimesMs | None = None
    c_hat: NotNegative | None = None
    details: TextDetails | None = None
    optimal_gamma: Count | None = None
    recommended_gamma: Count | None = None
    improvement_factor: Mapping[Gamma, Improvement] = field(default_factory=dict)
    clock: ClockCheck = ClockCheck()
    left_out: LeftOut | None = None
    load: tuple[LoadCosts, ...] = ()

    @property
    def cost(self) -> CostModel | None:
        """The cost model with the times in seconds; None if only acceptance was measured."""
        return None if self.times is None else self.cost_of(self.times)

    def cost_of(self, passes: TimesMs | LoadCosts) -> CostModel:
        """Returns the cost model with the times of `passes` and the overhead in `self.times`."""
        times = TimesMs({}, 0.0) if self.times is None else self.times
        return CostModel(
            target_seconds={n: ms / 1e3 for n, ms in passes.target_ms.items()},
            draft_seconds=passes.draft_ms / 1e3,
            draft_curve={gamma: ms / 1e3 for gamma, ms in passes.drafting_ms.items()},
            overhead_seconds=times.overhead_ms / 1e3,
            baseline_overhead_seconds=times.baseline_overhead_ms / 1e3,
        )

    @property
    def c(self) -> Estimate | None:
        """Time of a draft step over time of a target step; None if no draft was timed."""
        return None if self.times is None else self.times.c

    @property
    def workloads(self) -> dict[str, Mapping[str, Workload]]:
        """Results by group of prompts: by category, and by prompt length if lengths differ."""
        details = TextDetails() if self.details is None else self.details
        groups = {"category": details.by_category} if details.by_category else {}
        return groups | (
            {"prompt tokens": details.by_context} if len(details.by_context) > 1 else {}
        )

    @property
    def compared_gamma(self) -> int:
        """The γ at which workloads are compared: the best γ over all prompts, but at least 1."""
        return 1 if self.optimal_gamma is None else max(self.optimal_gamma, 1)

    @property
    def drafts_alike(self) -> bool:
        """Whether sampled and argmax drafts are the same: copies, or drafts at temperature 0."""
        return len(self.draftings) > 1 and all(map(self.drafting().__eq__, self.draftings.values()))

    def drafting(self, sampling: DraftSampling | None = None) -> DraftAcceptance:
        """Returns the acceptance for one way to sample drafts, by default `draft_sampling`."""
        wanted = self.draft_sampling if sampling is None else sampling
        if wanted not in self.draftings:
            raise ValueError(
                f"the profile must hold drafts that are {wanted}, got {', '.join(self.draftings)}"
            )
        return self.draftings[wanted]


def milliseconds(seconds: Mapping[int, float]) -> dict[int, float]:
    """Returns times by number of tokens, in milliseconds, ascending."""
    return {n: 1e3 * value for n, value in sorted(seconds.items())}
