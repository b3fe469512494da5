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
    """The mean of β over a range of text positions that starts at `first`."""

    first: Count
    alpha: Rate
    tokens: Count


@dataclass(frozen=True, slots=True)
class Improvement:
    """Speed-up at one γ by replay, with its interval, and under i.i.d. acceptance."""

    replay: Positive
    iid: Positive
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """Results of a subset of the prompts, from their texts and times.

    tokens_per_call, improvement_factor: by γ, replayed at the times of these prompts' runs.
    optimal_gamma: the γ with the largest speed-up; 0: do not speculate.
    accepted_by_position: share of blocks of the longest timed draft that accept each position.
    """

    alpha: Alpha
    tokens_per_call: Mapping[Gamma, Estimate]
    improvement_factor: Mapping[Gamma, Estimate]
    optimal_gamma: Count
    accepted_by_position: tuple[Estimate, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Jackknife values: fields of a profile, computed without prompt 1, without prompt 2, ….

    They give the uncertainty of differences between two profiles of the same prompts
    (`estimator.comparison`). Empty for a single prompt.
    """

    alpha: tuple[Rate, ...]
    c: tuple[NotNegative, ...]
    improvement_factor: Mapping[Gamma, tuple[Positive, ...]]


@dataclass(frozen=True, slots=True)
class LoadCosts:
    """Times of passes over a batch of sequences.

    context: tokens in the cache of each sequence.
    target_ms: target pass over n tokens of each sequence, by n.
    draft_ms, drafting_ms: a steady draft step of all sequences, and γ steps, by γ.
    spread_percent: largest interquartile range of a pass's repeats, in per cent of its median.
    """

    batch: Gamma
    context: Gamma
    target_ms: Mapping[Gamma, Positive]
    draft_ms: NotNegative
    drafting_ms: Mapping[Gamma, NotNegative]
    spread_percent: NotNegative


@dataclass(frozen=True, slots=True)
class TimesMs:
    """Times of single sequences, t_p by n, t_q, t_d by γ, t_o and t_b, in the order of the fields.

    c: draft step over target step; None if nothing was drafted.
    """

    target_ms: Mapping[Gamma, Positive]
    draft_ms: NotNegative
    drafting_ms: Mapping[Count, NotNegative] = field(default_factory=dict)
    overhead_ms: NotNegative = 0.0
    baseline_overhead_ms: NotNegative = 0.0
    c: Estimate | None = None

    @classmethod
    def of(cls, cost: CostModel, c: Estimate | None = None) -> TimesMs:
        return cls(
            target_ms=milliseconds(cost.target_seconds),
            draft_ms=1e3 * cost.draft_seconds,
            drafting_ms=milliseconds(cost.draft_curve),
            overhead_ms=1e3 * cost.overhead_seconds,
            baseline_overhead_ms=1e3 * cost.baseline_overhead_seconds,
            c=c,
        )


@dataclass(frozen=True, slots=True)
class TextDetails:
    """Detailed results, which only specplan's own decoder can measure.

    alpha_by_position_in_text: α by range of positions in the text.
    by_category: results by category of the prompts, in the order of the prompts.
    by_context: results by prompt length in tokens, in octaves ("64-127"), ascending.
    prefill_ms: milliseconds of the pass over a prompt, by the target and by both models.
    iid_check: how far acceptances are from independent: the correlation of neighbouring β (null if
      β never varies), and tokens per call by γ, from replay and for i.i.d. acceptance.
    """

    alpha_by_position_in_text: tuple[AlphaBin, ...] = ()
    by_category: Mapping[str, Workload] = field(default_factory=dict)
    by_context: Mapping[str, Workload] = field(default_factory=dict)
    prefill_ms: Mapping[str, NotNegative] = field(default_factory=dict)
    iid_check: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ClockCheck:
    """How far the times of a profile can be trusted.

    noise_percent, noise_within_percent: difference of two measurements of the baseline, and the
      upper end of the interval of such differences.
    quiet: whether no other program used the machine; None if not known.
    doubts: sentences about impossible times. If there are any, no time can be trusted.
    repeats: smallest number of repeats of a run.
    """

    noise_percent: NotNegative | None = None
    noise_within_percent: NotNegative | None = None
    quiet: bool | None = None
    doubts: tuple[str, ...] = ()
    repeats: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The measurements of a pair, as `profile_file` writes and reads them.

    alpha, draft_sampling: α and name of the way of sampling drafts that the user chose.
    draftings: acceptance by way of sampling drafts; has at least the chosen way.
    verification: how drafts were verified when times and speed-ups were measured.
    times: times at batch 1; None if only acceptance was observed.
    c_hat: draft over target arithmetic operations per token; None if unknown.
    details: None if specplan's own decoder did not decode the prompts.
    optimal_gamma, recommended_gamma: the best γ by replay, and the advised one (`best.plan_of`); 0:
      do not speculate; None without costs.
    left_out: None if they were not saved.
    load: costs by batch; the time outside passes was only measured at batch 1.
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
        """The times in seconds, to plan with; None if only acceptance was observed."""
        return None if self.times is None else self.cost_of(self.times)

    def cost_of(self, passes: TimesMs | LoadCosts) -> CostModel:
        """Returns the cost model of some passes' times; overhead is taken from `times`."""
        own = TimesMs({}, 0.0) if self.times is None else self.times
        return CostModel(
            target_seconds={n: ms / 1e3 for n, ms in passes.target_ms.items()},
            draft_seconds=passes.draft_ms / 1e3,
            draft_curve={gamma: ms / 1e3 for gamma, ms in passes.drafting_ms.items()},
            overhead_seconds=own.overhead_ms / 1e3,
            baseline_overhead_seconds=own.baseline_overhead_ms / 1e3,
        )

    @property
    def c(self) -> Estimate | None:
        """Draft step over target step; None if no draft was timed."""
        return None if self.times is None else self.times.c

    @property
    def workloads(self) -> dict[str, Mapping[str, Workload]]:
        """Groups of prompts to compare: by category, and by context if there are several."""
        details = TextDetails() if self.details is None else self.details
        found = {"category": details.by_category} if details.by_category else {}
        if len(details.by_context) > 1:
            found["prompt tokens"] = details.by_context
        return found

    @property
    def compared_gamma(self) -> int:
        """The γ at which workloads are compared: the best over all prompts, 1 at least."""
        return 1 if self.optimal_gamma is None else max(self.optimal_gamma, 1)

    def drafting(self, sampling: DraftSampling | None = None) -> DraftAcceptance:
        """Returns the acceptance under a way of drafting; by default, the way the user chose."""
        wanted = self.draft_sampling if sampling is None else sampling
        if wanted not in self.draftings:
            raise ValueError(
                f"the profile must hold drafts that are {wanted}, got {', '.join(self.draftings)}"
            )
        return self.draftings[wanted]


def milliseconds(seconds: Mapping[int, float]) -> dict[int, float]:
    """Returns times by number of tokens, in milliseconds, ascending."""
    return {n: 1e3 * each for n, each in sorted(seconds.items())}
