"""The section of a plan for several settings: speed-up by batch with its schedule, or by GPU."""

from collections.abc import Sequence
from typing import Any

from simulator.choice.odds import percentage
from specplan.reports.lengths import Part, fits, ranges_of, shown_point
from specplan.reports.page.explorer import ratio_grid
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import (
    Chart,
    Section,
    Span,
    Table,
    number,
    ranged,
    series,
)  # fmt: skip
from specplan.reports.page.plans import BASELINE, EXPORT, Json, interval, plan_inputs
from specplan.reports.page.setting_sliders import plan_grid
from specplan.reports.several import SETTINGS, headline_row, settings_of

# With more rows than this, a table shows only powers of two and the ends of ranges.
_ROWS_MOST = 40
# Most buttons that set sliders to a row.
_STARTS = 6
_BEST = "speed-up"
_READ = "of the advised K, or of the best K where none is advised or one is to be measured first"
_EXPORT = "With --engine SERVER (vllm, sglang, llama.cpp, ...) the command also gives the flags."


def plans_section(document: Document) -> Section:
    """Returns the section of a plan for several batches, GPUs or rates."""
    rows, schedule = document.data["rows"], document.data.get("schedule") or []
    settings = settings_of(rows)
    parts = ranges_of(document.data, settings)
    charts = [_strip(rows, settings[0], parts)] if parts else [_side_by_side(rows, settings)]
    if "gpu" in settings:
        charts += _speeds(rows, settings)
    edges = {part[end] for part in schedule for end in ("first_batch", "last_batch")}
    shown = [
        point
        for point in rows
        if len(rows) <= _ROWS_MOST or point["batch"] in edges | {2**power for power in range(16)}
    ]
    cells = [
        [*[f"{point.get(name)}" for name in settings], _advice(point), *_numbers(point)]
        for point in shown
    ]
    columns = [*[SETTINGS[name] for name in settings], "advised K", "at K", _BEST,
               "odds of a gain", "tokens/s", "without"]  # fmt: skip
    alike = {name: value for name, value in rows[0].items()
             if all(point.get(name) == value for point in rows)}  # fmt: skip
    return Section(
        kind="Plan",
        about=document.about,
        headline=document.data["sentence"],
        sure=document.data["sure"],
        charts=charts,
        tables=[Table("By " + ", ".join(columns[: len(settings)]), columns, cells)],
        flags=_flags(document.flags, rows, settings),
        export=_EXPORT if "gpu" in settings else EXPORT,
        inputs=[*document.inputs, *plan_inputs(alike)],
        command=document.command,
        notes=rows[0]["notes"],
        explorer=_explorer(rows, settings),
    )


def _explorer(rows: Sequence[Json], settings: Sequence[str]) -> dict[str, Any] | None:
    """Returns the grid of the sliders, over the settings that differ or over α and c."""
    if not {"alpha", "c"} & {*settings}:
        at = headline_row(rows, settings) if any(map(fits, rows)) else None
        return plan_grid(rows, {name: SETTINGS[name] for name in settings}, at)
    if not rows[0]["verification_free"] or rows[0]["acceptance"]["kind"] != "iid":
        return None
    return ratio_grid([
        {"name": ", ".join(f"{SETTINGS[name]} {_short(point[name])}" for name in settings),
         "alpha": point["alpha"], "c": point["c"], "slope": 0.0}
        for point in rows[:_STARTS]
    ])  # fmt: skip


def _flags(flags: dict[str, str], rows: Sequence[Json], settings: Sequence[str]) -> dict[str, str]:
    """Returns flags by server and GPU, the GPU of the headline first."""
    if "gpu" not in settings or not any(map(fits, rows)):
        return flags
    gpu = rows[headline_row(rows, settings)]["gpu"]
    return dict(sorted(flags.items(), key=lambda part: f", {gpu}, " not in part[0]))


def _advice(point: Json) -> str:
    if not fits(point):
        return "does not fit"
    return "undecided" if point["first_runs"] else str(point["advised_gamma"] or "none")


def _numbers(point: Json) -> list[str]:
    """Returns the cells at a row's draft length; dashes if the models do not fit."""
    if not fits(point):
        return ["-"] * 5
    drafting = shown_point(point)
    return [
        str(drafting["gamma"]), ranged(drafting, "improvement_factor"),
        percentage(point["gain_probability"]), number(drafting.get("tokens_per_second"), 1),
        number(point["baseline_tokens_per_second"], 1),
    ]  # fmt: skip


def _strip(rows: Sequence[Json], name: str, parts: Sequence[Part]) -> Chart:
    """Returns the speed-up by batch or context, over a strip with the draft length of each."""
    ends = [*(part.first for part in parts[1:]), parts[-1].last]
    spans = [
        Span(
            part.first,
            end,
            "none" if part.state is None else f"K {part.gamma}{'' if part.state else '?'}",
            None if part.state is None else part.gamma,
        )
        for part, end in zip(parts, ends, strict=True)
    ]  # fmt: skip
    return Chart(
        f"by-{name}",
        f"Speed-up by {SETTINGS[name]}",
        f"Speed-up by {SETTINGS[name]}, {_READ}. Colours: the advised K (with a question mark: to "
        "measure first); grey: no speculation is advised.",
        SETTINGS[name],
        "times the speed without speculation",
        series(
            _BEST,
            0,
            ((point[name], *interval(shown_point(point))) for point in rows if fits(point)),
        ),
        levels=[BASELINE],
        spans=spans,
        logarithmic=rows[-1][name] > 16 * rows[0][name],
    )


def _speeds(rows: Sequence[Json], settings: Sequence[str]) -> list[Chart]:
    """Returns the chart of tokens per second with and without speculation; [] without times."""
    if any(point["tokens_per_second"] is None for point in rows):
        return []
    speeds = {
        "with speculation": [shown_point(point)["tokens_per_second"] for point in rows],
        "without": [point["baseline_tokens_per_second"] for point in rows],
    }
    return [
        Chart(
            "speeds",
            "Tokens per second",
            f"All sequences together, without speculation and with it: {_READ}.",
            ", ".join(SETTINGS[name] for name in settings),
            "tokens/s",
            [
                bars
                for colour, (name, values) in enumerate(speeds.items())
                for bars in series(name, colour, enumerate(values), "bars")
            ],
            categories=_names(rows, settings),
        )
    ]


def _side_by_side(rows: Sequence[Json], settings: Sequence[str]) -> Chart:
    """Returns the speed-ups of several settings, one dot with its interval for each."""
    return Chart(
        "by-setting",
        "Speed-up by " + ", ".join(SETTINGS[name] for name in settings),
        f"Speed-up {_READ}.",
        ", ".join(SETTINGS[name] for name in settings),
        "times the speed without speculation",
        series(_BEST, 0,
               ((at, *interval(shown_point(row))) for at, row in enumerate(rows) if fits(row)),
               "dots"),
        levels=[BASELINE],
        categories=_names(rows, settings),
    )  # fmt: skip


def _names(rows: Sequence[Json], settings: Sequence[str]) -> list[str]:
    return [", ".join(_short(point[name]) for name in settings) for point in rows]


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
