"""What a page says of each draft: its numbers at its best γ, ranked, and the answer they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimator.profiles.profile import Estimate, Improvement, Profile
from specplan.reports.export import export, exported_to
from specplan.reports.page.inputs import Named


@dataclass(frozen=True, slots=True)
class Draft:
    """One line of the ranking.

    gamma: the best γ that was timed, 0: do not speculate; None where no costs were measured.
    gain: the speed-up there, with its interval; 1 at γ = 0.
    seconds: of a block at max(gamma, 1): drafting, verifying, other; None without costs.
    slope: what verifying one token more adds, in target steps, on the way to that γ.
    """

    named: Named
    gamma: int | None
    gain: Improvement | None
    seconds: tuple[float, float, float] | None
    slope: float | None

    @property
    def name(self) -> str:
        return self.named.name

    @property
    def profile(self) -> Profile:
        return self.named.profile

    @property
    def c(self) -> Estimate | None:
        return self.profile.c


@dataclass(frozen=True, slots=True)
class Answer:
    """The page's first words.

    headline: which draft, which γ, what gain.
    sure: sentences on how far to trust it.
    flags: by server, what sets it there; empty where there is nothing to set.
    """

    headline: str
    sure: tuple[str, ...]
    flags: tuple[tuple[str, str], ...]


def ranked(profiles: Sequence[Named]) -> list[Draft]:
    """Returns the drafts by their gain, the largest first; those without costs last."""
    drafts = [_draft(named) for named in profiles]
    return sorted(drafts, key=lambda d: -1.0 if d.gain is None else d.gain.replay, reverse=True)


def _draft(named: Named) -> Draft:
    profile = named.profile
    cost, gamma = profile.cost, profile.optimal_gamma
    if cost is None or gamma is None:
        return Draft(named, None, None, None, None)
    gain = Improvement(1.0, 1.0) if gamma == 0 else profile.improvement_factor[gamma]
    length = max(gamma, 1)
    verify = float(cost.verify_seconds(length + 1))
    seconds = (float(cost.drafting_seconds(length)), verify, cost.overhead_seconds)
    step = cost.step_seconds
    return Draft(named, gamma, gain, seconds, max(0.0, (verify / step - 1) / length))


def answer(drafts: Sequence[Draft], *, draft_of: dict[str, str | None]) -> Answer:
    """Returns what to do, how sure that is, and how to do it.

    Args:
      drafts: as `ranked` has them.
      draft_of: by name, what a server loads the draft from; None: no server can.
    """
    best = drafts[0]
    if best.gain is None or best.gamma is None:
        return Answer(
            f"{best.name}: α {best.profile.alpha.value:.3f}; no costs were measured, so no γ.",
            ("Give costs to 'specplan plan --profile' for a γ.",),
            (),
        )
    alpha = best.profile.alpha
    counted = "" if alpha.prompts is None else f" over {alpha.prompts} prompts"
    if best.gamma == 0:
        headline = "Do not speculate: no draft here pays."
    else:
        headline = (
            f"Draft with {best.name}, γ = {best.gamma}: "
            f"{best.gain.replay:.2f} times the speed of the target alone."
        )
    return Answer(headline, tuple(_sure(drafts, counted)), _flags(best, draft_of[best.name]))


def _sure(drafts: Sequence[Draft], counted: str) -> list[str]:
    best, profile = drafts[0], drafts[0].profile
    lines = []
    if best.gamma and best.gain is not None:
        if best.gain.low is None or best.gain.high is None:
            lines.append("One prompt gives no interval: measure more.")
        else:
            lines.append(
                f"95 % interval {best.gain.low:.2f} to {best.gain.high:.2f}{counted}; "
                f"{best.gain.iid:.2f} if acceptances were independent."
            )
        recommended = profile.recommended_gamma
        if recommended is not None and recommended != best.gamma:
            what = "not to speculate" if recommended == 0 else f"γ = {recommended}"
            lines.append(f"Not significantly worse over these prompts: {what}.")
    if profile.quiet is False:
        lines.append("The machine was not quiet: trust none of the times, and measure anew.")
    elif profile.noise_percent is not None:
        lines.append(f"The baseline against itself: {profile.noise_percent:.1f} %.")
    setups = [draft.profile.setup for draft in drafts]
    if len({(setup.target, setup.prompts_hash) for setup in setups}) > 1:
        lines.append(
            "These profiles are of different targets or prompts: their ranking compares ratios "
            "that were not measured on the same work."
        )
    elif len(drafts) > 1:
        lines.append(
            "Whether one draft is really better than another: 'specplan compare' pairs them by "
            "prompt."
        )
    return lines


def _flags(best: Draft, loaded_from: str | None) -> tuple[tuple[str, str], ...]:
    if best.gamma is None or (best.gamma > 0 and loaded_from is None):
        return ()
    sampling = best.profile.draft_sampling
    draft = "" if loaded_from is None else loaded_from
    return tuple(
        (server, export(server, gamma=best.gamma, draft=draft, sampling=sampling))
        for server in exported_to()
    )


def added_by_position(profile: Profile) -> tuple[list[float], list[float]]:
    """Returns what the first, second, … drafted token adds to the tokens of a target call.

    By replay (or as a server counted it), and α^k, which it is if acceptances are independent.
    """
    acceptance = profile.drafting().acceptance
    longest = acceptance.observed_gamma
    assert longest is not None   # of recorded and of counted acceptances
    tokens = acceptance.tokens_per_call(np.arange(longest + 1))
    powers = acceptance.alpha ** np.arange(1, longest + 1)
    return np.diff(tokens).tolist(), powers.tolist()
