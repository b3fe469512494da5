"""The best γ of a profile: its gain, the parts of its time, and the best γ at each batch."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import student
from estimator.profiles.profile import Improvement, LoadCosts, Profile
from estimator.traces.traces import DraftSampling
from simulator.acceptance.acceptance import Iid
from simulator.choice.curve import Covariance, best_gamma, speed_up
from simulator.choice.plan import Plan, plan
from simulator.cost.curves import CostModel
from simulator.numerics.intervals import Forecast, deviations

# Positions shown of an acceptance without times.
MOST_DRAWN = 32


@dataclass(frozen=True, slots=True)
class BestGamma:
    """The best timed draft length of a profile (0: do not speculate), and the profile's plan.

    gain: the speed-up at `gamma`, with its interval; 1 at γ = 0.
    seconds: drafting, verifying and other seconds per block that drafts max(gamma, 1) tokens.
    slope: mean time that each drafted token adds to verification, in target steps.
    """

    gamma: int
    plan: Plan
    gain: Improvement
    seconds: tuple[float, float, float]
    slope: float


class BestAtBatch(NamedTuple):
    """The times of passes at one batch size, and the best γ there (0: do not speculate)."""

    load: LoadCosts
    gamma: int


def best_of(profile: Profile) -> BestGamma | None:
    """Returns the profile's best γ with its gain and times; None if the profile has no costs."""
    cost, gamma = profile.cost, profile.optimal_gamma
    if cost is None:
        return None
    if gamma is None:  # counted acceptance at stated costs
        acceptance = profile.drafting().acceptance
        gamma = best_gamma(acceptance, cost, max_gamma=acceptance.observed_gamma)
        iid = Iid(profile.alpha.value)
        gain = Improvement(*(float(speed_up(law, cost, gamma)) for law in (acceptance, iid)))
    else:
        gain = profile.improvement_factor[gamma] if gamma else Improvement(1.0, 1.0)
    length = max(gamma, 1)
    verify = float(cost.verify_seconds(length + 1))
    seconds = (float(cost.drafting_seconds(length)), verify, cost.overhead_seconds)
    slope = max(0.0, (verify / cost.step_seconds - 1) / length)
    return BestGamma(gamma, plan_of(profile, cost), gain, seconds, slope)


def plan_of(profile: Profile, cost: CostModel, sampling: DraftSampling | None = None) -> Plan:
    """Returns the plan that `specplan plan --profile` makes, for one way to sample drafts.

    sampling: how drafts are sampled; None: as in the measurement of the profile.
    """
    acceptance = profile.drafting(sampling).under(profile.verification)
    timed = cost.with_setting(timed=tuple(profile.improvement_factor))
    measured_way = sampling in (None, profile.draft_sampling)
    return plan(acceptance, timed, doubt=measured_doubt(profile) if measured_way else None)


def measured_doubt(profile: Profile) -> Covariance | None:
    """Returns a function from γs to the covariance of log measured speed-ups; None for one prompt.

    The covariance is the jackknife's, (n - 1) / n Σ (xᵢ - x̄)(xᵢ - x̄)ᵀ, where xᵢ leaves out prompt i
    (Efron and Stein 1981), plus the squared difference of two baseline measurements. It is scaled
    so that normal intervals equal Student's t. An untimed γ gets the nearest timed γ's error.
    """
    without = {} if profile.left_out is None else profile.left_out.improvement_factor
    timed = np.array(sorted(without))
    logs = np.log([without[gamma] for gamma in timed.tolist()])
    if logs.ndim < 2 or logs.shape[1] < 2:
        return None
    degrees, apart = logs.shape[1] - 1, profile.clock.noise_percent
    clock = 0.0 if apart is None else apart / 100
    covariance = degrees * np.cov(logs, bias=True).reshape(len(timed), -1) + clock**2
    covariance *= (student(degrees) / deviations()) ** 2

    def doubt(gammas: NDArray[np.int64]) -> NDArray[np.float64]:
        nearest = np.abs(timed - gammas[:, None]).argmin(axis=1)
        return np.asarray(covariance[np.ix_(nearest, nearest)])

    return doubt


def with_intervals(profile: Profile) -> Profile:
    """Returns the profile with an interval of each speed-up; unchanged without `measured_doubt`."""
    doubt, gains = measured_doubt(profile), profile.improvement_factor
    if doubt is None:
        return profile
    law = Forecast.normal(
        np.log([factor.replay for factor in gains.values()]), doubt(np.array([*gains]))
    )
    ends = zip(gains.items(), np.array(law.interval()).T.tolist(), strict=True)
    factors = {
        gamma: replace(factor, low=low, high=high) for (gamma, factor), (low, _, high) in ends
    }
    return replace(profile, improvement_factor=factors)


def best_by_batch(profile: Profile) -> list[BestAtBatch]:
    """Returns the best timed γ at each timed batch size and context, with the times of passes.

    If passes were timed at several contexts, acceptance at a context is as measured there.
    """
    mean = profile.drafting().acceptance
    several = len({load.context for load in profile.load}) > 1
    rows = []
    for load in profile.load:
        acceptance = mean.at_context(load.context) if several else mean
        longest = max(load.drafting_ms)
        gamma = best_gamma(acceptance, profile.cost_of(load), max_gamma=longest)
        rows.append(BestAtBatch(load, gamma))
    return rows


def added_by_position(profile: Profile) -> tuple[list[float], list[float]]:
    """Returns how much the first, second, … drafted token adds to the tokens per target call.

    The first list is measured on blocks of the longest timed draft, or computed from the tokens per
    call at each γ. Its values never rise. The second list has the values α, α², … that i.i.d.
    acceptance would give.
    """
    from scipy.optimize import isotonic_regression

    drafting = profile.drafting()
    added = [rate.value for rate in drafting.accepted_by_position]
    if not added:
        acceptance, timed = drafting.acceptance, max(profile.improvement_factor, default=MOST_DRAWN)
        lengths = np.arange(1 + min(acceptance.observed_gamma, timed))
        steps = np.diff(acceptance.tokens_per_call(lengths))
        added = isotonic_regression(steps, increasing=False).x.tolist()
    return added, [profile.alpha.value**k for k in range(1, len(added) + 1)]
