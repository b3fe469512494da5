"""The page of `specplan report`: one HTML file that contains its style, script and numbers."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from estimator.profiles.parts import Alpha, Estimate
from estimator.profiles.profile import Improvement
from estimator.validation.file import Validated
from estimator.writing import builtins
from figures.drawing import short_name
from simulator.choice.plan import DEFAULT_MAX_GAMMA
from simulator.choice.walltime import TIE
from simulator.numerics.intervals import percent
from specplan.reports.page.charts import charts
from specplan.reports.page.drafts import Flags, answer, ranked
from specplan.reports.page.inputs import Inputs, Named, quickest

HERE = Path(__file__).parent
_PARTS = ("draft", "verify", "other")


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
        validations=inputs.validations,
        traffic=inputs.traffic,
        tunings=inputs.tunings,
        quickest=quickest(inputs.traffic),
        data={
            "charts": {chart.key: asdict(chart) for chart in drawn},
            "start": [_start(draft) for draft in drafts],
            "tie": TIE,
            "max_gamma": DEFAULT_MAX_GAMMA,
        },
        max_gamma=DEFAULT_MAX_GAMMA,
    )


def page_json(inputs: Inputs, exported: Flags) -> dict[str, Any]:
    """Returns the page's summary and its ranking of drafts as a JSON object."""
    drafts = ranked(inputs.profiles)
    return {
        **answer(drafts, exported),
        "drafts": [
            {
                "name": draft.name,
                "file": draft.file,
                "alpha": _leveled(draft.profile.alpha, draft.profile.alpha.level),
                "c": _leveled(draft.profile.c, draft.profile.alpha.level),
                "gamma": None if draft.best is None else draft.best.gamma,
                "advised_gamma": None if draft.best is None else draft.best.plan.advised_gamma,
                "improvement_factor": _leveled(draft.gain, draft.level),
                "quiet": draft.profile.clock.quiet,
            }
            for draft in drafts
        ],
        "tunings": [
            {"file": file, "confidence": tuned.confidence, "advised": builtins(tuned.advised)}
            for file, tuned in inputs.tunings
        ],
    }


def _leveled(estimate: Alpha | Estimate | Improvement | None, level: float) -> Any:
    """Returns a number with its interval and the interval's level; None for None."""
    return None if estimate is None else {**asdict(estimate), "confidence": level}


def _start(draft: Named) -> dict[str, object]:
    """Returns the initial positions of the explorer's sliders for a draft."""
    return {
        "name": draft.name,
        "alpha": draft.profile.alpha.value,
        "c": 0.05 if draft.profile.c is None else draft.profile.c.value,
        "slope": 0.0 if draft.best is None else draft.best.slope,
        "gamma": 4 if draft.best is None or draft.best.gamma == 0 else draft.best.gamma,
    }


def _shares(drafts: Sequence[Named], validations: Sequence[Validated]) -> list[dict[str, Any]]:
    """Returns where the time of blocks goes, in per cent: priced at best γ, then measured."""
    parts = [
        (f"{draft.name}, γ = {max(draft.best.gamma, 1)}: priced", draft.best.seconds)
        for draft in drafts
        if draft.best is not None
    ]
    parts += [
        (
            f"{short_name(row.draft)}, "
            + (row.policy if row.gamma is None else f"γ = {row.gamma}")
            + f", temperature {row.temperature:g}: measured",
            row.parts_seconds,
        )
        for results in validations
        for row in results.rows
        if row.parts_seconds is not None
    ]
    return [
        {
            "name": name,
            **{part: 100 * seconds / sum(each) for part, seconds in zip(_PARTS, each, strict=True)},
        }
        for name, each in parts
        if sum(each) > 0
    ]
