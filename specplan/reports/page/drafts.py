"""The page's ranking of drafts, and its answer."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from estimator.profiles.best import BestGamma, best_of, with_intervals
from estimator.profiles.profile import Profile
from simulator.numerics.intervals import percent
from specplan.reports.advice import odds_text
from specplan.reports.page.inputs import Named
from specplan.reports.profile import clock_lines, other_lines

# Maps a profile to the flags of each server that has its draft.
Flags = Callable[[Profile], dict[str, str]]


def ranked(profiles: Sequence[Named]) -> list[Named]:
    """Returns the drafts by gain, the largest first; drafts without costs come last."""
    drafts = [
        replace(each, profile=profile, best=best_of(profile))
        for each in profiles
        for profile in [with_intervals(each.profile)]
    ]
    return sorted(drafts, key=lambda each: each.gain.replay if each.gain else 0.0, reverse=True)


_DRAFT = (
    "Next: start the server with the flags below, and compare the time per token with and "
    "without them."
)
_LEAVE = (
    "Next: leave the server without a draft. A smaller draft, a head, or fewer requests at "
    "once may change that."
)


def answer(drafts: Sequence[Named], exported: Flags) -> dict[str, Any]:
    """Returns the page's first words on ranked drafts, as in its JSON object.

    headline: which draft, which γ, what gain. sure: sentences on how far to trust it. flags: by
    server, what sets it there; empty where there is nothing to set.
    """
    first, best, alpha = drafts[0], drafts[0].best, drafts[0].profile.alpha
    if best is None:
        return {
            "headline": f"{first.name}: α {alpha.value:.3f}; no costs were measured, so no γ.",
            "sure": ["Give costs to 'specplan plan --profile' for a γ."],
            "flags": {},
        }
    counted = "" if alpha.prompts is None else f" over {alpha.prompts} prompts"
    if best.gamma == 0:
        headline = "Do not speculate: no draft here pays."
    elif best.plan.advised_gamma == 0:
        headline = f"Do not speculate: a gain of {first.name} is not likely."
    else:
        advised = best.plan.advised_gamma
        gain = best.plan.curve.improvement_factor[advised - 1]
        headline = (
            f"Draft with {first.name}, γ = {advised}: {gain:.2f} times the speed without "
            "speculation."
        )
    now = _DRAFT if best.gamma > 0 and best.plan.advised_gamma > 0 else _LEAVE
    flags = exported(first.profile)
    return {"headline": headline, "sure": [*_sure(drafts, best, counted), now], "flags": flags}


def _sure(drafts: Sequence[Named], best: BestGamma, counted: str) -> list[str]:
    profile = drafts[0].profile
    lines = []
    if best.gamma > 0:
        plan, at = best.plan, max(best.plan.advice.named, 1) - 1
        if plan.curve.in_doubt:
            lines.append(
                f"{percent()} interval {plan.curve.low[at]:.2f} to {plan.curve.high[at]:.2f}"
                f"{counted}. {odds_text(plan)}"
            )
        else:
            lines.append("One prompt gives no interval: measure more.")
    lines += [*other_lines(profile, best.plan), *clock_lines(profile)]
    setups = [draft.profile.setup for draft in drafts]
    if len({(setup.target, setup.texts.prompts_hash) for setup in setups}) > 1:
        lines.insert(
            0,
            "These profiles are of different targets or prompts: their ranking compares ratios "
            "that were not measured on the same work.",
        )
    elif len(drafts) > 1:
        lines.append(
            "Whether one draft is really better than another: 'specplan compare' pairs them by "
            "prompt."
        )
    return lines
