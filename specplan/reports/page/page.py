"""A page: one HTML file that contains its style, scripts, charts and numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.profiles.parts import Alpha, Estimate
from estimator.profiles.profile import Improvement
from estimator.writing import builtins
from specplan.reports.page.comparisons import comparison_section, validation_section
from specplan.reports.page.inputs import Document, Inputs, Named
from specplan.reports.page.machines import machines_section
from specplan.reports.page.many_plans import plans_section
from specplan.reports.page.observations import observation_section, tree_section
from specplan.reports.page.pictures import Section, in_words, number
from specplan.reports.page.plans import plan_section
from specplan.reports.page.profiles import Flags, answer, profiles_section, ranked
from specplan.reports.page.sizes import size_section
from specplan.reports.page.traffic import burst_section, traffic_section
from specplan.reports.page.tunings import tuned_of, tuning_section

if TYPE_CHECKING:
    import jinja2

HERE = Path(__file__).parent
LIBRARY = HERE / "echarts" / "echarts.common.min.js"
_SECTIONS: dict[str, Callable[[Document], Section]] = {
    "plan": plan_section,
    "plans": plans_section,
    "traffic": traffic_section,
    "machines": machines_section,
    "burst": burst_section,
    "size": size_section,
    "observe": observation_section,
    "compare": comparison_section,
    "tree": tree_section,
    "tune": tuning_section,
    "validate": validation_section,
}


def sections(inputs: Inputs, exported: Flags) -> list[Section]:
    """Returns the sections of all inputs: profiles together, then each other file."""
    return [
        *([in_words(profiles_section(inputs.profiles, exported))] if inputs.profiles else []),
        *map(section, inputs.documents),
    ]


def section(document: Document) -> Section:
    """Returns the section of a command's JSON; refuses JSON that lacks what the command writes."""
    try:
        answered = _SECTIONS[document.kind](document)
        return in_words(replace(answered, basis=answered.basis or document.basis))
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        name = document.file or "the answer"
        raise ValueError(
            f"{name} must be the JSON that specplan writes for a {document.kind}, got {error!r} on "
            "reading it"
        ) from error


def page(sections: Sequence[Section], *, title: str, reload: int | None = None) -> str:
    """Returns the HTML of sections.

    reload: seconds after which the page loads itself again; None: never.
    """
    from markupsafe import Markup

    charts = {
        f"part-{at}-{chart.key}": asdict(chart)
        for at, part in enumerate(sections, 1)
        for chart in part.charts
    }
    grids = {f"part-{at}": part.explorer for at, part in enumerate(sections, 1) if part.explorer}
    return _template().render(
        title=title,
        sections=sections,
        number=number,
        reload=reload,
        made=date.today(),
        library=Markup(LIBRARY.read_text(encoding="utf-8")),
        data={"charts": charts, "explorers": grids},
    )


@cache
def _template() -> jinja2.Template:
    """Returns the page's template, compiled once: a live page is written every few seconds."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html")


def page_json(inputs: Inputs, sections: Sequence[Section], exported: Flags) -> dict[str, Any]:
    """Returns the page's advice, and its ranking of drafts, as a JSON object."""
    drafts = ranked(inputs.profiles)
    tunings = [
        {"file": document.file, "confidence": tuned.confidence, "advised": builtins(tuned.advised)}
        for document in inputs.documents
        if _SECTIONS[document.kind] is tuning_section and (tuned := tuned_of(document))
    ]
    top = answer(drafts, exported) if drafts else {"headline": sections[0].headline}
    parts = [
        {"kind": part.kind, "about": part.about, "headline": part.headline} for part in sections
    ]
    ranking = [_draft_json(draft) for draft in drafts]
    return {**top, "drafts": ranking, "tunings": tunings, "sections": parts}


def _draft_json(draft: Named) -> dict[str, Any]:
    profile, best = draft.profile, draft.best

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
