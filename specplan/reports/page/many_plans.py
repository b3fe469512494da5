"""The section of a plan for several settings: speed-up by batch with its schedule, or by GPU."""

from collections.abc import Sequence
from typing import Any

from simulator.numerics.intervals import percent
from specplan.reports.page.explorer import ratio_grid
from specplan.reports.page.inputs import Document
from specplan.reports.page.lengths import Part, advised_lengths, fits, lengths_table, ranges_of
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
from specplan.reports.page.plans import (
    BASELINE,
    EXPORT,
    SETTINGS,
    Json,
    headline,
    interval,
    plan_inputs,
)
from specplan.reports.page.setting_sliders import plan_grid

# With more rows than this, a table shows only powers of two and the ends of ranges.
_ROWS_MOST = 40
# Most buttons that set sliders to a row.
_STARTS = 6
_BEST = "speed-up"
_READ = "of the advised K, or of the best K where none is advised or one is to be measured first"
_EXPORT = "With --engine SERVER (vllm, sglang, llama.cpp, ...) the command also gives the flags."
# Most settings whose odds are in the sentence.
_SAID = 6
# Follows from the other settings where verification has a cost.
_DERIVED = ("c",)


def plans_section(document: Document) -> Section:
    """Returns the section of a plan for several batches, GPUs or rates."""
    rows, schedule = document.data["rows"], document.data.get("schedule") or []
    settings = [name for name in SETTINGS if len({point.get(name) for point in rows}) > 1]
    if len(settings) > 1 and not rows[0]["verification_free"]:
        settings = [name for name in settings if name not in _DERIVED]
    parts = ranges_of(document.data, settings)
    charts = [_strip(rows, settings[0], parts)] if parts else [_side_by_side(rows, settings)]
    if "gpu" in settings:
        charts += _speeds(rows, settings)
    unfit = [point for point in rows if not fits(point)]
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
            *(
                [str(_shown(point)["gamma"]), ranged(_shown(point), "improvement_factor"),
                 chance(point["gain_probability"]),
                 number(_shown(point).get("tokens_per_second"), 1),
                 number(point["baseline_tokens_per_second"], 1)]
                if fits(point) else ["-"] * 5
            ),
        ]
        for point in shown
    ]  # fmt: skip
    columns = [*[SETTINGS[name] for name in settings], "advised K", "at K", _BEST,
               "odds of a gain", "tokens/s", "without"]  # fmt: skip
    alike = {name: value for name, value in rows[0].items()
             if all(point.get(name) == value for point in rows)}  # fmt: skip
    return Section(
        kind="Plan",
        about=document.about,
        headline=_headline_of_several(rows, parts, settings),
        sure=[
            *[f"Intervals: {percent()}."] * ("improvement_factor_low" in rows[0]),
            *_odds(rows, settings),
            *[f"{len(unfit)} of {len(rows)} settings do not fit into memory."] * bool(unfit),
        ],
        charts=charts,
        tables=[
            Table("By " + ", ".join(columns[: len(settings)]), columns, cells),
            *([lengths_table(parts, columns[0])] if len(parts) > 1 else []),
        ],
        flags=document.flags,
        export=_EXPORT if "gpu" in settings else EXPORT,
        inputs=[*document.inputs, *plan_inputs(alike)],
        command=document.command,
        notes=rows[0]["notes"],
        explorer=_explorer(rows, settings),
    )


def _odds(rows: Sequence[Json], settings: Sequence[str]) -> list[str]:
    """Returns a sentence with the odds of a gain at some settings; [] without odds."""
    known = [point for point in rows if fits(point) and point["gain_probability"] is not None]
    if not known or len(settings) > 1:
        return []
    steps = max(1, -(-(len(known) - 1) // (_SAID - 1)))
    some = [*known[:-1:steps], known[-1]]
    label = "" if settings == ["gpu"] else f"{SETTINGS[settings[0]]} "
    texts = [f"{chance(row['gain_probability'])} at {label}{row[settings[0]]}" for row in some]
    return [f"Odds of a gain: {', '.join(texts)}."]


def _explorer(rows: Sequence[Json], settings: Sequence[str]) -> dict[str, Any] | None:
    """Returns the grid of the sliders, over the settings that differ or over α and c."""
    if not {"alpha", "c"} & {*settings}:
        return plan_grid(rows, {name: SETTINGS[name] for name in settings})
    if not rows[0]["verification_free"] or rows[0]["acceptance"]["kind"] != "iid":
        return None
    return ratio_grid([
        {"name": ", ".join(f"{SETTINGS[name]} {_short(point[name])}" for name in settings),
         "alpha": point["alpha"], "c": point["c"], "slope": 0.0}
        for point in rows[:_STARTS]
    ])  # fmt: skip


def _shown(point: Json) -> Json:
    """Returns the numbers at a row's draft length, which is above 0 where any can run.

    It is the stated one, if any, else the advised or best one.
    """
    chosen = point["gamma"] not in (0, point["optimal_gamma"])
    return point if chosen else point.get("drafting") or point


def _advice(point: Json) -> str:
    if not fits(point):
        return "does not fit"
    if point["test_gamma"] is not None:
        return f"undecided: measure {point['test_gamma']}"
    return str(point["advised_gamma"] or "none")


def _headline_of_several(
    rows: Sequence[Json], parts: Sequence[Part], settings: Sequence[str]
) -> str:
    if parts:
        return advised_lengths(parts, SETTINGS[settings[0]])
    fitting = [point for point in rows if fits(point)]
    if not fitting:
        return "The models do not fit into memory: no K is advised."
    best = max(fitting, key=lambda point: _shown(point)["improvement_factor"])
    where = ", ".join(f"{SETTINGS[name]} {best[name]}" for name in settings)
    gains = bool(best["advised_gamma"] or best["test_gamma"])
    named = f"The largest {'gain' if gains else 'speed-up'} is at {where}. {headline(best, [])}"
    if settings != ["gpu"] or any(point["tokens_per_second"] is None for point in fitting):
        return named
    speeds = {point["gpu"]: _advised_speed(point) for point in fitting}
    fast = max(fitting, key=lambda point: speeds[point["gpu"]][0])
    speed, way = speeds[fast["gpu"]]
    text = f"{fast['gpu']} is the fastest: {number(speed, 0)} tokens/s {way}"
    if fast["test_gamma"] is not None:
        more = number(_shown(fast)["tokens_per_second"], 0)
        text += f", {more} if K = {fast['test_gamma']} gains, which is undecided: measure it first"
    if best is fast:
        return f"{text}."
    gain = f"{ranged(_shown(best), 'improvement_factor')} times at K = {_shown(best)['gamma']}"
    return f"{text}. The largest speed-up is on {best['gpu']}: {gain}."


def _advised_speed(point: Json) -> tuple[float, str]:
    """Returns tokens per second as advised, and the advised draft length in words."""
    if point["advised_gamma"]:
        return _shown(point)["tokens_per_second"], f"with K = {point['advised_gamma']}"
    return point["baseline_tokens_per_second"], "without speculation"


def _strip(rows: Sequence[Json], name: str, parts: Sequence[Part]) -> Chart:
    """Returns the speed-up by batch or context, over a strip with the draft length of each."""
    ends = [*(part.first for part in parts[1:]), parts[-1].last]
    spans = [
        Span(
            part.first, end, f"K {part.gamma}{'' if part.state else '?'}" if part.gamma else "none",
            part.gamma or None,
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
            _BEST, 0, ((point[name], *interval(_shown(point))) for point in rows if fits(point))
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
        "with speculation": [_shown(point)["tokens_per_second"] for point in rows],
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
               ((at, *interval(_shown(point))) for at, point in enumerate(rows) if fits(point)),
               "dots"),
        levels=[BASELINE],
        categories=_names(rows, settings),
    )  # fmt: skip


def _names(rows: Sequence[Json], settings: Sequence[str]) -> list[str]:
    return [", ".join(_short(point[name]) for name in settings) for point in rows]


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
