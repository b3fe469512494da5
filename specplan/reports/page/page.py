"""The page of `specplan report`: one HTML file that contains its style, script and numbers."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from estimator.profiles.best import BestGamma, best_of, with_intervals
from estimator.profiles.parts import Alpha, Estimate
from estimator.profiles.profile import Improvement, Profile
from estimator.validation.file import Validated
from estimator.writing import builtins
from figures.drawing import short_name
from simulator.choice.plan import DEFAULT_MAX_GAMMA
from simulator.choice.walltime import TIE
from simulator.numerics.intervals import percent
from specplan.reports.advice import odds_text
from specplan.reports.page.charts import charts
from specplan.reports.page.inputs import Inputs, Named, quickest
from specplan.reports.profile import clock_lines, other_lines

# Maps a profile to the flags of each server that has its draft.
Flags = Callable[[Profile], dict[str, str]]
HERE = Path(__file__).parent
_DRAFT = (
    "Next: start the server with the flags below, and compare the time per token with and "
    "without them."
)
_LEAVE = (
    "Next: leave the server without a draft. A smaller draft, a head, or fewer requests at "
    "once may change that."
)


def page(inputs: Inputs, *, title: str, exported: Flags) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drafts = ranked(inputs.profiles)
    drawn = charts(drafts, inputs.validations, inputs.traffic)
    return environment.get_template("page.html").render(
        title=title,
        percent=percent,
        answer=answer(drafts, exported),
        drafts=drafts,
        charts=drawn,
        shares=_shares(drafts, inputs.validations),
        inputs=inputs,
        quickest=quickest(inputs.traffic),
        data={
            "charts": {chart.key: asdict(chart) for chart in drawn},
            "start": [_start(draft) for draft in drafts],
            "tie": TIE,
            "max_gamma": DEFAULT_MAX_GAMMA,
        },
    )


def ranked(profiles: Sequence[Named]) -> list[Named]:
    """Returns the drafts in order of gain, the largest first; drafts without costs come last."""
    drafts = []
    for each in profiles:
        profile = with_intervals(each.profile)
        drafts.append(replace(each, profile=profile, best=best_of(profile)))
    return sorted(drafts, key=lambda each: -each.best.gain.replay if each.best else 0.0)


def answer(drafts: Sequence[Named], exported: Flags) -> dict[str, Any]:
    """Returns the advice at the top of the page as a JSON object; drafts: in order of gain.

    headline: the draft, its γ and the gain. sure: sentences on how reliable the headline is.
    flags: the flags that set this draft and γ, by server; only servers that have the draft.
    """
    first, best, alpha = drafts[0], drafts[0].best, drafts[0].profile.alpha
    if best is None:
        return {
            "headline": f"{first.name}: α {alpha.value:.3f}; no costs were measured, so no γ.",
            "sure": ["Give costs to 'specplan plan --profile' for a γ."],
            "flags": {},
        }
    plan, advised, sure = best.plan, best.plan.advised_gamma, list[str]()
    headline = f"Do not speculate: a gain of {first.name} is not likely."
    if best.gamma == 0:
        headline = "Do not speculate: no draft here pays."
    elif advised > 0:
        gain = f"{plan.curve.improvement_factor[advised - 1]:.2f}"
        headline = (
            f"Draft with {first.name}, γ = {advised}: {gain} times the speed without speculation."
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
    if len(drafts) > 1 and not several:
        sure.append(
            "Whether one draft is really better than another: 'specplan compare' pairs them by "
            "prompt."
        )
    sure.append(_DRAFT if best.gamma > 0 and advised > 0 else _LEAVE)
    return {"headline": headline, "sure": sure, "flags": exported(first.profile)}


def page_json(inputs: Inputs, exported: Flags) -> dict[str, Any]:
    """Returns the page's summary and its ranking of drafts as a JSON object."""
    drafts = ranked(inputs.profiles)
    tunings = [
        {"file": file, "confidence": tuned.confidence, "advised": builtins(tuned.advised)}
        for file, tuned in inputs.tunings
    ]
    ranking = [_draft_json(draft, draft.profile, draft.best) for draft in drafts]
    return {**answer(drafts, exported), "drafts": ranking, "tunings": tunings}


def _draft_json(draft: Named, profile: Profile, best: BestGamma | None) -> dict[str, Any]:
    def leveled(estimate: Alpha | Estimate | Improvement | None, level: float) -> Any:
        return None if estimate is None else {**asdict(estimate), "confidence": level}

    return {
        "name": draft.name,
        "file": draft.file,
        "alpha": leveled(profile.alpha, profile.alpha.level),
        "c": leveled(profile.c, profile.alpha.level),
        "gamma": None if best is None else best.gamma,
        "advised_gamma": None if best is None else best.plan.advised_gamma,
        "improvement_factor": leveled(None if best is None else best.gain, draft.level),
        "quiet": profile.clock.quiet,
    }


def _start(draft: Named) -> dict[str, object]:
    """Returns the initial values of the sliders in the page's explorer for a draft."""
    return {
        "name": draft.name,
        "alpha": draft.profile.alpha.value,
        "c": 0.05 if draft.profile.c is None else draft.profile.c.value,
        "slope": 0.0 if draft.best is None else draft.best.slope,
        "gamma": 4 if draft.best is None or draft.best.gamma == 0 else draft.best.gamma,
    }


def _shares(drafts: Sequence[Named], validations: Sequence[Validated]) -> list[dict[str, Any]]:
    """Returns the parts of a block's time in per cent, predicted for each draft, then measured."""
    parts = [
        (f"{draft.name}, γ = {max(draft.best.gamma, 1)}: priced", draft.best.seconds)
        for draft in drafts
        if draft.best is not None
    ]
    for row in (row for results in validations for row in results.rows):
        if row.parts_seconds is not None:
            at = row.policy if row.gamma is None else f"γ = {row.gamma}"
            setting = f"{short_name(row.draft)}, {at}, temperature {row.temperature:g}"
            parts.append((f"{setting}: measured", row.parts_seconds))
    names = ("draft", "verify", "other")
    return [
        {"name": name, **dict(zip(names, (100 * part / sum(each) for part in each), strict=True))}
        for name, each in parts
        if sum(each) > 0
    ]
