"""The section of `specplan size`: how many GPUs, the speeds of users and GPUs, and candidates."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simulator.numerics.intervals import percent
from specplan.reports.day import HOURS, day_sentences
from specplan.reports.machines import WAYS
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import Chart, Section, Series, Span, Table, Threshold, series
from specplan.reports.page.rate_slider import rate_explorer
from specplan.reports.page.traffic import by_way, planned_again
from specplan.reports.sizing import SPEEDS, fleet_columns, fleets, setting, speed_levels
from specplan.reports.table import cells

_NEXT = "next_replica_rate"
_USER, _GPU = "tokens_per_second_per_user", "tokens_per_second_per_gpu"


def size_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan size`."""
    answer = document.data
    rows, levels = fleets(answer), speed_levels(answer["pareto"])
    heads, *candidates = cells(rows, fleet_columns(rows))
    hour_heads, *hours = cells(answer["day"]["hours"], HOURS) if answer.get("day") else [[]]
    speed_heads, *speeds = cells(levels, SPEEDS)
    targets = [(name, answer[f"{name.lower()}_target_ms"]) for name in ("TTFT", "TPOT")]
    return Section(
        kind="How many GPUs",
        about=document.about,
        headline=answer["sentence"],
        sure=[
            *answer["promises"][:-1],
            *(day_sentences(answer["day"]) if answer.get("day") else []),
        ],
        charts=[
            *_by_hour(answer.get("day")),
            *_by_rate(answer),
            *([_pareto(document)] if levels else []),
        ],
        tables=[
            *(
                [Table("Each layout with the fewest GPUs that are enough", heads, candidates, 0)]
                if rows
                else []
            ),
            *([Table("By hour", hour_heads, hours)] if hours else []),
            *([Table("By the speed of a user", speed_heads, speeds)] if levels else []),
        ],
        flags={**document.flags, **planned_again(answer)},
        inputs=document.inputs
        or [
            ("requests a second", f"{answer['rate']:g}"),
            *((f"{name} target", f"{limit:g} ms") for name, limit in targets if limit is not None),
            ("share of requests", f"{100 * answer['share']:g} %"),
        ],
        command=document.command,
        notes=[*answer["promises"][-1:], *answer["notes"]],
        explorer=rate_explorer(answer.get("grid"), answer["rate"], answer[f"{_NEXT}_sure"] or 0.0),
    )


def _by_rate(sized: Mapping[str, Any]) -> list[Chart]:
    """Returns the times of the answer by rate, and the share of requests within the targets."""
    rows = sized.get("by_rate")
    if not rows:
        return []
    lines = (
        ("tpot_ms", "Mean time per token", "milliseconds a token", sized["tpot_target_ms"]),
        ("ttft_ms", "Mean time to the first token", "milliseconds", sized["ttft_target_ms"]),
        ("share_percent", "Requests within the targets", "per cent", 100 * sized["share"]),
    )
    rows = [{**point, "share_percent": 100 * point["share_within"]} for point in rows]
    reading = (
        f"The answer's {_gpus(sized['best'])} at other rates, in closed form, and as many without "
        "speculation. Grey: by the rule more GPUs are needed."
    )
    last, (low, high) = rows[-1]["rate"], (sized[f"{_NEXT}_{end}"] for end in ("low", "high"))
    spans = [Span(sized[f"{_NEXT}_sure"], last, "needs more GPUs")]
    if low is not None and low < last:
        spans.insert(0, Span(low, min(high, last), "", 0))
        reading += f" Coloured: the {percent()} interval of the largest rate that they keep."
    charts = [
        Chart(name.removesuffix("_ms"), f"{title} by rate", reading, "requests a second", unit,
              by_way(rows, name), [Threshold(limit, "target")] * (limit is not None), spans)
        for name, title, unit, limit in lines
    ]  # fmt: skip
    promised = [(sized[_NEXT], 100 * sized["share"])]
    if sized["simulated"] is not None:
        promised.insert(0, (sized["rate"], 100 * sized["simulated"]["share_within"]))
    shares = charts.pop()
    way = WAYS[sized["best"]["gamma"] > 0]
    dots = series(f"{way}, simulated", 2, promised, "dots")
    text = f"{reading} Dots: simulated; they decide the answer."
    return [*charts, replace(shares, reading=text, series=[*shares.series, *dots])]


def _by_hour(day: Mapping[str, Any] | None) -> list[Chart]:
    """Returns the GPUs that each hour of a trace needs; [] without a trace of several hours."""
    if day is None or len(day["hours"]) == 1:
        return []
    hours, fixed = day["hours"], day["fixed_gpus"]
    ways = (("the answer", "gpus"), ("without speculation", "gpus_without"))
    bars = [
        line
        for colour, (name, key) in enumerate(ways[: 1 + day["speculation"]])
        for line in series(name, colour, ((at, hour[key]) for at, hour in enumerate(hours)), "bars")
    ]
    reading = (
        "GPUs that keep the targets in each hour of the trace. One fixed number for the answer "
        f"({fixed} GPUs, the line) is idle {day['wasted_percent']:.0f} % of its time."
    )
    levels, names = [Threshold(fixed, f"{fixed} GPUs at all hours")], [at["from"] for at in hours]
    return [Chart("hours", "GPUs by hour", reading, "hour begins at", "GPUs", bars, levels,
                  categories=names)]  # fmt: skip


def _gpus(fleet: Mapping[str, Any]) -> str:
    return f"{fleet['gpus']} GPU{'s' * (fleet['gpus'] > 1)}"


def _pareto(document: Document) -> Chart:
    """Returns tokens/s of a GPU against tokens/s of a user, with speculation and without."""
    points, limit = document.data["pareto"], document.data["tpot_target_ms"]
    users = [point[_USER] for point in points]
    needed = 0.0 if limit is None else 1e3 / limit
    best, simulated = document.data["best"], document.data["simulated"]
    marks = [] if simulated is None else [(
        _gpus(best),
        1e3 / simulated["tpot_ms_p50"],
        document.data["rate"] * document.data["output_tokens"] / best["gpus"],
    )]  # fmt: skip
    slow = [Span(min(users), min(needed, max(users)), "")] if needed > min(users) else []
    lines: list[Series] = []
    for colour, (way, name) in enumerate(WAYS.items()):
        fronts = ((point[_USER], point[_GPU], None, None, setting(point))
                  for point in reversed(points) if point["speculation"] == way)  # fmt: skip
        lines += series(name, colour, fronts)
    reading = (
        "No other deployment of one replica is faster in both. Further right, each user waits "
        "less; further up, each GPU serves more."
        + " Grey: misses the TPOT target." * bool(slow)
        + " The mark is the answer, simulated." * len(marks)
    )
    return Chart("speeds", "Speed of a GPU by speed of a user", reading, "tokens/s a user",
                 "tokens/s a GPU", lines, spans=slow, marks=marks)  # fmt: skip
