"""The section of a plan for one setting: speed-up by draft length, odds and next run."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.choice.odds import percentage
from simulator.numerics.intervals import percent
from specplan.reports.page.explorer import ratio_grid
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import Chart, Section, Table, Threshold, number, ranged, series
from specplan.reports.page.position_sliders import position_grid
from specplan.reports.page.setting_sliders import plan_grid
from specplan.reports.several import SETTINGS

Json = Mapping[str, Any]
BASELINE = Threshold(1.0, "without speculation")
# Number of K that a table shows after the advised one, and least number.
_ROWS_PAST, _ROWS_LEAST = 4, 8
EXPORT = "With --export SERVER (vllm, sglang, llama.cpp, ...) the command also gives the flags."
# Follows c where a block takes longer than c says.
_PLAIN_MS = "ms per token without speculation"
_MORE = " (a drafted token over a target step; a block also verifies, and has a fixed time)"


def plan_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan plan` for one setting."""
    answer = document.data
    points = answer["curve"]
    return Section(
        kind="Plan",
        about=document.about,
        headline=answer["sentence"],
        sure=sureness(answer),
        charts=[curve_chart(answer, points)],
        tables=[curve_table(answer, points)],
        flags=document.flags,
        export=EXPORT,
        inputs=[*document.inputs, *plan_inputs(answer)],
        command=document.command,
        notes=[*answer["notes"], *answer["further"]],
        explorer=_explorer(answer),
    )


def _explorer(answer: Json) -> dict[str, Any] | None:
    """Returns the grid of the sliders, which vary acceptance; None if it was counted otherwise."""
    if answer["verification_free"] and answer["acceptance"]["kind"] == "iid":
        start = {"name": "this plan", "alpha": answer["alpha"], "c": answer["c"], "slope": 0.0}
        return ratio_grid([start])
    return position_grid(answer) or plan_grid([answer], {})


INTERVALS = f"Intervals: {percent()}."


def sureness(answer: Json) -> list[str]:
    """Returns how sure the advice is, at which level its intervals are, and if K is limited."""
    lines = list(answer["sure"])
    if "improvement_factor_low" in answer:
        lines.append(INTERVALS)
    elif answer["advised_gamma"] and answer.get("cost", {}).get("kind") != "profile":
        free = ", and checking K + 1 tokens as fast as one" * answer["verification_free"]
        lines.append(
            f"No odds: acceptance and costs are taken as exact{free}. Runs of your server (--run) "
            "give an interval."
        )
    if answer.get("cap_binds"):
        lines.append("The largest K that was allowed is the best: a longer draft may gain.")
    return lines


def curve_chart(answer: Json, points: Sequence[Json], key: str = "speed-up") -> Chart:
    """Returns the speed-up by K, with its interval, the measured runs and the advice."""
    band = "improvement_factor_low" in points[0]
    last = max(_ROWS_LEAST, 2 * max(answer["optimal_gamma"], answer["advised_gamma"] or 0) + 2)
    shown = points[:last]
    measured = [point for point in shown if point.get("measured")]
    gammas = [point["gamma"] for point in shown]
    marks = [
        (label, gamma, point["improvement_factor"])
        for label, gamma in _marked(answer).items()
        for point in shown
        if point["gamma"] == gamma
    ]
    return Chart(
        key,
        "Speed-up by draft length",
        ("The line is the most likely speed-up" if band else "The line is the speed-up")
        + f"{f', the band its {percent()} interval' if band else ''}; above 1, speculation gains."
        + " Dots are measured runs; the line fits all of them." * bool(measured),
        "K",
        "times the speed without speculation",
        [
            *series("speed-up", 0, zip(gammas, *_columns(shown), strict=True)),
            *series(
                "measured", 1,
                ((point["gamma"], point["measured_improvement_factor"], *interval(point)[1:])
                 for point in measured), "dots",
            ),
        ],
        levels=[BASELINE],
        marks=marks,
    )  # fmt: skip


def _marked(answer: Json) -> dict[str, int]:
    advised, best = answer["advised_gamma"], answer["optimal_gamma"]
    first = max(answer["first_runs"], default=None)
    later = (answer.get("next_run") or {}).get("gamma")
    if first is None and later not in (None, 0, advised):
        return {"advised": advised, "run next": later} if advised else {"run next": later}
    if first is None and advised and later == advised:
        return {"best: run it next": best} if best == advised else {"run next": later, "best": best}
    if first is not None:
        return {"best: measure it": best} if first == best else {"measure": first, "best": best}
    if advised is None:
        return {"best": best}
    return {"advised and best": best} if advised == best else {"advised": advised, "best": best}


def interval(point: Json) -> tuple[Any, ...]:
    """Returns the speed-up of a point with its interval."""
    names = ("improvement_factor", "improvement_factor_low", "improvement_factor_high")
    return tuple(point.get(name) for name in names)


def _columns(points: Sequence[Json]) -> list[list[Any]]:
    return [list(column) for column in zip(*map(interval, points), strict=True)]


def curve_table(answer: Json, points: Sequence[Json]) -> Table:
    """Returns the speed-ups by K, up to some K beyond the advised one."""
    last = max(_ROWS_LEAST, _ROWS_PAST + max(answer["optimal_gamma"], answer["advised_gamma"] or 0))
    shown = points[:last]
    columns = ["K", "tokens per call", "speed-up"]
    odds = any(point["gain_probability"] is not None for point in shown)
    times = "ms_per_token" in shown[0]
    columns += ["odds of a gain"] * odds + ["ms per token"] * times
    cells = [
        [
            str(point["gamma"]),
            number(point["expected_tokens"]),
            ranged(point, "improvement_factor") + " measured" * bool(point.get("measured")),
            *[percentage(point["gain_probability"])] * odds,
            *([ranged(point, "ms_per_token")] if times else []),
        ]
        for point in shown
    ]
    gammas = [point["gamma"] for point in shown]
    advised = answer["advised_gamma"]
    return Table(
        "By draft length", columns, cells, gammas.index(advised) if advised in gammas else None
    )


def plan_inputs(answer: Json) -> list[tuple[str, str]]:
    """Returns names and values of the inputs of a plan."""
    names = {"alpha": "α", "c": "c", "c_hat": "c of operations", **SETTINGS, "dtype": "weights",
             "baseline_ms_per_token": _PLAIN_MS,
             "baseline_tokens_per_second": "tokens per second without speculation"}  # fmt: skip
    if answer.get("c_hat_is_c"):
        del names["c_hat"]
    pairs = [(label, answer.get(name)) for name, label in names.items()]
    fitted = (answer.get("cost") or {}).get("evidence")
    more = {} if answer.get("verification_free") else {"c": _MORE}
    more |= {_PLAIN_MS: " (fitted through all runs)"} if fitted else {}
    forms = {_PLAIN_MS: ".2f"}
    return [
        (label, (f"{value:{forms.get(label, '.4g')}}" if isinstance(value, float) else str(value))
         + more.get(label, ""))
        for label, value in pairs
        if value is not None
    ]  # fmt: skip
