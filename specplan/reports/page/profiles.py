"""The section of measured drafts: the best of them, how sure, and what each accepts and costs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from estimator.comparison import Comparison, compare
from estimator.profiles.best import best_of, with_intervals
from estimator.profiles.profile import Profile
from simulator.numerics.intervals import percent
from specplan.reports.advice import odds_text
from specplan.reports.page.draft_sliders import draft_grid
from specplan.reports.page.inputs import Named
from specplan.reports.page.pictures import Section
from specplan.reports.page.profile_charts import profile_charts
from specplan.reports.page.profile_tables import by_kind, ranking, setup, shares
from specplan.reports.profile import clock_lines, other_lines
from specplan.reports.verdict import deciding, next_commands, open_text, speeds, verdict

# Maps a profile to the flags of each server that has its draft.
Flags = Callable[[Profile], dict[str, str]]
_DRAFT = (
    "start the server with the flags below, and compare the time per token with and without them."
)
_DECIDE = "to decide, measure both again with the commands below; until then, "
_LEAVE = (
    "Next: leave the server without a draft. A smaller draft, a head, or fewer requests at "
    "once may change that."
)


def profiles_section(profiles: Sequence[Named], exported: Flags) -> Section:
    """Returns the section of all profiles together, the best draft first."""
    drafts = ranked(profiles)
    top = answer(drafts, exported)
    targets = dict.fromkeys(draft.profile.setup.target for draft in drafts)
    devices = dict.fromkeys(draft.profile.setup.device or "" for draft in drafts)
    levels = percent(*(draft.profile.alpha.level for draft in drafts))
    commands = [draft.profile.setup.software.command or "" for draft in drafts]
    note = (
        f"Intervals of α, c and kinds of prompts: {levels}, over prompts; of speed-ups: "
        f"{percent(*(draft.level for draft in drafts))}."
    )
    return Section(
        kind="Measured drafts",
        about=", ".join(filter(None, [*targets, *devices, *(draft.file for draft in drafts)])),
        headline=top["headline"],
        sure=top["sure"],
        charts=profile_charts(drafts),
        tables=[ranking(drafts), *shares(drafts), *by_kind(drafts)],
        flags=_flags(drafts, top["flags"], exported),
        basis=_basis(drafts),
        inputs=[pair for draft in drafts for pair in setup(draft, several=len(drafts) > 1)],
        command="\n".join(commands) if all(commands) else None,
        notes=[note],
        explorer=draft_grid(drafts),
    )


def ranked(profiles: Sequence[Named]) -> list[Named]:
    """Returns the drafts in order of gain, the largest first; drafts without costs come last."""
    drafts = []
    for draft in profiles:
        profile = with_intervals(draft.profile)
        drafts.append(replace(draft, profile=profile, best=best_of(profile)))
    return sorted(drafts, key=lambda draft: -draft.best.gain.replay if draft.best else 0.0)


def answer(drafts: Sequence[Named], exported: Flags) -> dict[str, Any]:
    """Returns the advice at the top of the page as a JSON object; drafts: in order of gain.

    headline: the draft, its γ and the gain. sure: sentences on how reliable the headline is.
    flags: the flags that set this draft and γ, by server; only servers that have the draft.
    """
    first, best, alpha = drafts[0], drafts[0].best, drafts[0].profile.alpha
    if best is None:
        return {
            "headline": f"{first.name}: α {alpha.value:.3f}; no costs were measured, so no K.",
            "sure": ["Give costs to 'specplan plan --profile' for a K."],
            "flags": {},
        }
    plan, advised, sure, decide = best.plan, best.plan.advised_gamma, list[str](), ""
    gain = f"{plan.curve.improvement_factor[max(advised, 1) - 1]:.2f}"
    headline = f"Do not speculate: a gain of {first.name} is not likely."
    if best.gamma == 0:
        headline = "Do not speculate: no draft here pays."
    elif advised > 0:
        headline = (
            f"Draft with {first.name}, K = {advised}: {gain} times the speed without speculation."
        )
    setups = [draft.profile.setup for draft in drafts]
    several = len({(setup.target, setup.texts.prompts_hash) for setup in setups}) > 1
    if several:
        sure.append(
            "These profiles are of different targets or prompts: their ranking compares ratios "
            "that were not measured on the same work."
        )
    sure += [line for draft in drafts[:2] for line in _sureness(draft)]
    sure += [*other_lines(first.profile, plan), *clock_lines(first.profile)]
    sure += _sessions(drafts)
    if not several and (comparison := _pair(drafts)) is not None:
        rows, prompts = comparison.differences, comparison.a.prompts
        said = verdict(rows, prompts, first.name, drafts[1].name)
        second = drafts[1].best
        undecided = any(row.low is not None and not row.distinguishable for row in speeds(rows))
        if second and second.gamma > 0 and advised > 0 and undecided:
            [row] = speeds(rows)
            headline = open_text(
                (f"{first.name} with K = {advised}", plan.curve.improvement_factor[advised - 1]),
                (f"{drafts[1].name} with K = {second.gamma}", second.gain.replay),
                chance=1 - (row.higher_probability(prompts) or 0.5),
                prompts=prompts,
            )
            said = said.partition(". ")[2]  # the headline has its first sentence
            decide = _DECIDE * bool(next_commands(comparison))
        sure.append(f"Paired by prompt. {said}")
    sure.append(f"Next: {decide}{_DRAFT}" if best.gamma > 0 and advised > 0 else _LEAVE)
    return {"headline": headline, "sure": sure, "flags": exported(first.profile)}


def _sureness(draft: Named) -> list[str]:
    """Returns sentences on a draft's interval and odds, and on lengths that were not timed."""
    best, prompts = draft.best, draft.profile.alpha.prompts
    if best is None or best.gamma == 0:
        return []
    plan, gamma = best.plan, max(best.plan.advice.named, 1)
    lines = [f"{draft.name}: one prompt gives no interval: measure more."]
    if plan.curve.in_doubt:
        point = plan.point(gamma)
        counted = "" if prompts is None else f" over {prompts} prompts"
        between = f"{percent()} interval {point.low:.2f} to {point.high:.2f}{counted}"
        lines = [f"{draft.name}, K = {gamma}: {between}. {odds_text(plan)}"]
    timed = max(draft.profile.improvement_factor, default=None)
    if gamma == timed:
        lines.append(
            f"K = {gamma} is the longest that was timed of {draft.name}: longer was not timed, and "
            f"may be faster (--max-gamma {2 * gamma})."
        )
    return lines


def _flags(drafts: Sequence[Named], first: dict[str, str], exported: Flags) -> dict[str, str]:
    """Returns flags by server: the first draft's, `first`, and the next one's where both gain."""
    gain = [draft for draft in drafts[1:2] if draft.best and draft.best.plan.advised_gamma]
    both = {drafts[0].name: first, **{draft.name: exported(draft.profile) for draft in gain}}
    if len(both) == 1 or not first:
        return first
    named = {f"{name}, {server}": text for name in both for server, text in both[name].items()}
    return (deciding(next_commands(pair)) if (pair := _pair(drafts)) else {}) | named


def _basis(drafts: Sequence[Named]) -> str:
    """Returns the prompts, device and day of each draft's measurement."""
    known = [(draft.name, draft.profile.alpha.prompts, draft.profile.setup) for draft in drafts]
    texts = [f"{name}: {prompts or 'counted'} prompts, {setup.recorded or 'an unknown machine'}"
             for name, prompts, setup in known]  # fmt: skip
    return f"Rests on measurements. {'; '.join(texts)}."


def _pair(drafts: Sequence[Named]) -> Comparison | None:
    """Returns the comparison of the two best drafts; None unless both have speed-ups by prompt."""
    two = [draft for draft in drafts[:2] if draft.best and draft.profile.left_out is not None]
    if len(two) < 2:
        return None
    return compare((two[0].profile, two[1].profile), (Path(two[0].file), Path(two[1].file)))


def _sessions(drafts: Sequence[Named]) -> list[str]:
    """Returns a sentence on what the speed-ups of several measurements are over; [] for one."""
    times = {
        draft.name: 1e3 * draft.profile.cost.baseline_seconds
        for draft in drafts
        if draft.profile.cost is not None
    }
    if len(times) < 2:
        return []
    apart = 100 * (max(times.values()) / min(times.values()) - 1)
    shown = ", ".join(f"{ms:.2f} ({name})" for name, ms in times.items())
    return [
        "Drafts are ranked by speed-up, each over the baseline of its own measurement. A token "
        f"without speculation took {shown} ms, {apart:.0f} % apart: milliseconds of different "
        "drafts are not compared."
    ]
