"""The section of measured drafts: the best of them, how sure, and what each accepts and costs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from estimator.comparison import Comparison, compare
from estimator.profiles.best import added_by_position, best_of, with_intervals
from estimator.profiles.profile import Profile
from simulator.numerics.intervals import percent
from specplan.reports.advice import odds_text
from specplan.reports.page.draft_sliders import draft_grid
from specplan.reports.page.inputs import Named
from specplan.reports.page.pictures import Chart, Section, Series, Threshold, series
from specplan.reports.page.profile_tables import by_kind, ranking, setup, shares
from specplan.reports.profile import clock_lines, other_lines
from specplan.reports.verdict import speeds, verdict

# Maps a profile to the flags of each server that has its draft.
Flags = Callable[[Profile], dict[str, str]]
_DRAFT = (
    "Next: start the server with the flags below, and compare the time per token with and "
    "without them."
)
_LEAVE = (
    "Next: leave the server without a draft. A smaller draft, a head, or fewer requests at "
    "once may change that."
)


def profiles_section(profiles: Sequence[Named], exported: Flags) -> Section:
    """Returns the section of all profiles together, the best draft first."""
    drafts = ranked(profiles)
    top = answer(drafts, exported)
    targets = dict.fromkeys(draft.profile.setup.target for draft in drafts)
    devices = dict.fromkeys(str(draft.profile.setup.device) for draft in drafts)
    levels = percent(*(draft.profile.alpha.level for draft in drafts))
    commands = [draft.profile.setup.software.command or "" for draft in drafts]
    note = (
        f"Intervals of α, c and kinds of prompts: {levels}, over prompts; of speed-ups: "
        f"{percent(*(draft.level for draft in drafts))}."
    )
    return Section(
        kind="Measured drafts",
        about=", ".join([*targets, *devices, *(draft.file for draft in drafts)]),
        headline=top["headline"],
        sure=top["sure"],
        charts=_charts(drafts),
        tables=[ranking(drafts), *shares(drafts), *by_kind(drafts)],
        flags=top["flags"],
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
    plan, advised, sure = best.plan, best.plan.advised_gamma, list[str]()
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
    if best.gamma > 0 and plan.curve.in_doubt:
        at = max(plan.advice.named, 1) - 1
        counted = "" if alpha.prompts is None else f" over {alpha.prompts} prompts"
        between = f"{plan.curve.low[at]:.2f} to {plan.curve.high[at]:.2f}{counted}"
        sure.append(f"{percent()} interval {between}. {odds_text(plan)}")
    elif best.gamma > 0:
        sure.append("One prompt gives no interval: measure more.")
    sure += [*other_lines(first.profile, plan), *clock_lines(first.profile)]
    sure += _sessions(drafts)
    if not several and (comparison := _pair(drafts)) is not None:
        rows, prompts = comparison.differences, comparison.a.prompts
        said = verdict(rows, prompts, first.name, drafts[1].name)
        second = drafts[1].best
        undecided = any(row.low is not None and not row.distinguishable for row in speeds(rows))
        if second and second.gamma > 0 and advised > 0 and undecided:
            headline = (
                f"Take {first.name}, K = {advised} ({gain} times the speed without speculation), "
                f"or {drafts[1].name}, K = {second.gamma} ({second.gain.replay:.2f} times): "
                f"{prompts} prompts do not decide which is faster."
            )
            said = said.partition(". ")[2]  # the headline has its first sentence
        sure.append(f"Paired by prompt. {said}")
    sure.append(_DRAFT if best.gamma > 0 and advised > 0 else _LEAVE)
    return {"headline": headline, "sure": sure, "flags": exported(first.profile)}


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


def _charts(drafts: Sequence[Named]) -> list[Chart]:
    """Returns the charts that have data, the speed-up first."""
    by_chart: dict[str, list[Series]] = {}
    for colour, draft in enumerate(drafts):
        for key, parts in _of_draft(draft, colour).items():
            by_chart.setdefault(key, []).extend(parts)
    charts = [
        Chart(
            "speed-up",
            "Speed-up by draft length",
            "Replay of the recorded texts at measured costs, "
            f"{percent(*(draft.level for draft in drafts))} intervals over prompts; dashed: what "
            "independent acceptances of the same α would give.",
            "K",
            "times the speed without speculation",
            by_chart["speed-up"],
            levels=[Threshold(1.0, "without speculation")],
            marks=_marks(drafts),
        ),
        Chart(
            "acceptance",
            "Acceptance by position",
            "Tokens that the first, second, … drafted token adds to a target call, over blocks of "
            "the longest timed draft; dashed: α to that power, as if acceptances were independent. "
            "A block that drafts nothing, or fewer tokens, adds 0 there; α leaves it out.",
            "position in the draft",
            "tokens added per call",
            by_chart["acceptance"],
        ),
        Chart(
            "along-texts",
            "Acceptance along the texts",
            "α over stretches of the texts, by the tokens before each: flat where α is one number.",
            "tokens after the prompt",
            "α",
            by_chart["along-texts"],
        ),
        Chart(
            "costs",
            "Cost of a block",
            "A target pass over so many tokens, and (dashed) drafting so many, over a target pass "
            "over one token of the same measurement. If verification were free, the first would be "
            "flat.",
            "tokens",
            "target passes over one token",
            by_chart["costs"],
        ),
    ]
    return [chart for chart in charts if chart.series]


def _marks(drafts: Sequence[Named]) -> list[tuple[str, float, float]]:
    best = drafts[0].best
    if best is None or best.gamma not in (factors := drafts[0].profile.improvement_factor):
        return []
    return [("best", best.gamma, factors[best.gamma].replay)]


def _of_draft(draft: Named, colour: int) -> dict[str, list[Series]]:
    """Returns one draft's series for each chart, by the chart's key; [] where data is missing."""
    name, independent, times = draft.name, f"{draft.name}, independent", draft.profile.times
    factors, details = draft.profile.improvement_factor.items(), draft.profile.details
    replay = [(gamma, factor.replay, factor.low, factor.high) for gamma, factor in factors]
    iid = [(gamma, factor.iid) for gamma, factor in factors]
    added, powers = added_by_position(draft.profile)
    bins = () if details is None else details.alpha_by_position_in_text
    along = [(part.first, part.alpha) for part in bins]
    target, drafting = ({}, {}) if times is None else (times.target_ms, times.drafting_ms)
    one = target.get(1, 1.0)
    return {
        "speed-up": [*series(name, colour, replay), *series(independent, colour, iid, "dashed")],
        "acceptance": [
            *series(name, colour, enumerate(added, 1)),
            *series(independent, colour, enumerate(powers, 1), "dashed"),
        ],
        "along-texts": series(name, colour, along) if len(along) > 1 else [],
        "costs": [
            *series(f"verify, {name}", colour, ((n, ms / one) for n, ms in sorted(target.items()))),
            *series(
                f"draft, {name}",
                colour,
                ((n, ms / one) for n, ms in sorted(drafting.items())),
                "dashed",
            ),
        ],
    }
