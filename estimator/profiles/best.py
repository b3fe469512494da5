"""What a profile says of its best γ: the gain, where the time goes, and the same at each batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimator.profiles.profile import Improvement, LoadCosts, Profile
from simulator.acceptance.iid import Iid
from simulator.choice.gain import best_gamma, speed_up


@dataclass(frozen=True, slots=True)
class Best:
    """A profile at the best γ that was timed.

    gamma: that γ, 0: do not speculate.
    advised_gamma: the γ to run: 0, too, where not speculating is not significantly worse.
    gain: the speed-up there, with its interval; 1 at γ = 0.
    seconds: of a block at max(gamma, 1): drafting, verifying, other.
    slope: what verifying one token more adds, in target steps, on the way to that γ.
    """

    gamma: int
    advised_gamma: int
    gain: Improvement
    seconds: tuple[float, float, float]
    slope: float


@dataclass(frozen=True, slots=True)
class BestAtBatch:
    """The best γ of a batch, 0: do not speculate, its speed-up, and the time of a token."""

    load: LoadCosts
    gamma: int
    speed_up: float
    ms_per_token: float


def best_of(profile: Profile) -> Best | None:
    """Returns what the profile says of its best γ; None where it holds no costs."""
    cost, gamma = profile.cost, profile.optimal_gamma
    if cost is None:
        return None
    if gamma is None:  # counted acceptance at stated costs
        acceptance = profile.drafting().acceptance
        counted = 1 if acceptance.observed_gamma is None else acceptance.observed_gamma
        gamma = best_gamma(acceptance, cost, max_gamma=max(1, counted))
        iid = Iid(profile.alpha.value)
        gain = Improvement(*(float(speed_up(each, cost, gamma)) for each in (acceptance, iid)))
    else:
        gain = Improvement(1.0, 1.0) if gamma == 0 else profile.improvement_factor[gamma]
    length = max(gamma, 1)
    verify = float(cost.verify_seconds(length + 1))
    seconds = (float(cost.drafting_seconds(length)), verify, cost.overhead_seconds)
    advised = 0 if profile.recommended_gamma == 0 else gamma
    return Best(gamma, advised, gain, seconds, max(0.0, (verify / cost.step_seconds - 1) / length))


def best_by_batch(profile: Profile) -> list[BestAtBatch]:
    """Returns the best γ at each batch size that was timed, of the lengths timed there."""
    acceptance = profile.drafting().acceptance
    found = []
    for load in profile.load:
        cost = profile.cost_of(load)
        best = best_gamma(acceptance, cost, max_gamma=max(load.drafting_ms))
        gain = float(speed_up(acceptance, cost, best))
        found.append(BestAtBatch(load, best, gain, 1e3 * cost.baseline_seconds / gain))
    return found


def added_by_position(profile: Profile) -> tuple[list[float], list[float]]:
    """Returns what the first, second, … drafted token adds to the tokens of a target call.

    By replay (or as a server counted it), and α^k, which it is if acceptances are independent: as
    far as drafts were timed, where they were.
    """
    acceptance = profile.drafting().acceptance
    longest = acceptance.observed_gamma
    assert longest is not None  # of recorded and of counted acceptances
    longest = min(longest, max(profile.improvement_factor, default=longest))
    tokens = acceptance.tokens_per_call(np.arange(longest + 1))
    powers = acceptance.alpha ** np.arange(1, longest + 1)
    return np.diff(tokens).tolist(), powers.tolist()
