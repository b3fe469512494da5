"""The section of a plan for several settings: speed-up by batch with its schedule, or by GPU."""

from collections.abc import Sequence

from simulator.numerics.intervals import percent
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import (
    Chart,
    Section,
    Span,
    Table,
    chance,
    number,
    ranged,
    series,
)
from specplan.reports.page.plans import BASELINE, SETTINGS, Json, headline, interval, plan_inputs

# With more rows than this, a table shows only powers of two and the ends of ranges.
_ROWS_MOST = 40
_BEST = "speed-up at the best K"
# Follows from the other settings where verification has a cost.
_DERIVED = ("c",)


def plans_section(document: Document) -> Section:
    """Returns the section of a plan for several batches, GPUs or rates."""
    rows, schedule = document.data["rows"], document.data.get("schedule") or []
    settings = [name for name in SETTINGS if len({point.get(name) for point in rows}) > 1]
    if len(settings) > 1 and not rows[0]["verification_free"]:
        settings = [name for name in settings if name not in _DERIVED]
    by_batch = settings == ["batch"]
    chart = _batch_chart(rows, schedule) if by_batch else _side_by_side(rows, settings)
    edges = {part[end] for part in schedule for end in ("first_batch", "last_batch")}
    shown = [
        point
        for point in rows
        if len(rows) <= _ROWS_MOST or point["batch"] in edges | {2**power for power in range(16)}
    ]
    cells = [
        [
            *[f"{point.get(name)}" for name in settings],
            _advice(point),
            ranged(point, "improvement_factor"),
            chance(point["gain_probability"]),
            number(point["tokens_per_second"], 1),
        ]
        for point in shown
    ]
    columns = [*[SETTINGS[name] for name in settings], "advised K", _BEST,
               "odds of a gain", "tokens/s"]  # fmt: skip
    alike = {name: value for name, value in rows[0].items() if name not in settings}
    return Section(
        kind="Plan",
        about=document.about,
        headline=_headline_of_several(rows, schedule, settings),
        sure=[f"Intervals: {percent()}."] * ("improvement_factor_low" in rows[0]),
        charts=[chart],
        tables=[Table("By " + ", ".join(columns[: len(settings)]), columns, cells)],
        flags=document.flags,
        inputs=[*document.inputs, *plan_inputs({"cost": None, **alike})],
        command=document.command,
        notes=rows[0]["notes"],
    )


def _advice(point: Json) -> str:
    test = point["test_gamma"]
    return (
        f"undecided: measure {test}" if test is not None else str(point["advised_gamma"] or "none")
    )


def _headline_of_several(
    rows: Sequence[Json], schedule: Sequence[Json], settings: Sequence[str]
) -> str:
    if schedule:
        parts = [f"batch {_range(part)}: {_words(part)}" for part in schedule]
        return f"By load: {'; '.join(parts)}."
    best = max(rows, key=lambda point: point["improvement_factor"])
    where = ", ".join(f"{SETTINGS[name]} {best[name]}" for name in settings)
    return f"The largest gain is at {where}: " + _lower(headline(best, []))


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _range(part: Json) -> str:
    first, last = part["first_batch"], part["last_batch"]
    if last is None:
        return f"{first} and more"
    return f"{first}" if first == last else f"{first} to {last}"


def _words(part: Json) -> str:
    if part.get("test_gamma") is not None:
        return f"undecided, measure K = {part['test_gamma']}"
    return f"K = {part['gamma']}" if part["gamma"] else "no speculation"


def _batch_chart(rows: Sequence[Json], schedule: Sequence[Json]) -> Chart:
    """Returns the speed-up by batch; coloured strips show the draft length of each range."""
    last = rows[-1]["batch"]
    spans = [
        Span(
            part["first_batch"],
            min(part["last_batch"] or last, last),
            f"K {part['gamma']}" if part["gamma"] else f"K {part['test_gamma']}?",
            part["gamma"] or part["test_gamma"],
        )
        if part["gamma"] or part["test_gamma"]
        else Span(part["first_batch"], last, "none")
        for part in schedule
    ]
    return Chart(
        "by-batch",
        "Speed-up by batch",
        "Speed-up at the best draft length of each batch. Colours: the advised draft length (with "
        "a question mark: to measure first); grey: no speculation is advised.",
        "batch",
        "times the speed without speculation",
        series(_BEST, 0, ((point["batch"], *interval(point)) for point in rows)),
        levels=[BASELINE],
        spans=spans,
        logarithmic=rows[-1]["batch"] > 16 * rows[0]["batch"],
    )


def _side_by_side(rows: Sequence[Json], settings: Sequence[str]) -> Chart:
    """Returns the speed-ups of several settings, one dot with its interval for each."""
    names = [", ".join(_short(point[name]) for name in settings) for point in rows]
    return Chart(
        "by-setting",
        "Speed-up by " + ", ".join(SETTINGS[name] for name in settings),
        "Speed-up at the best draft length of each setting.",
        ", ".join(SETTINGS[name] for name in settings),
        "times the speed without speculation",
        series(_BEST, 0,
               ((at, *interval(point)) for at, point in enumerate(rows)), "dots"),
        levels=[BASELINE],
        categories=names,
    )  # fmt: skip


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
