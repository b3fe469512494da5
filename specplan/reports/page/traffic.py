"""The section of a server under load: times by rate, capacity, and the share within targets."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from engines.kind import listed
from simulator.numerics.intervals import percent
from specplan.reports.page.capacity import capacity_spans, reading
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import (
    Chart,
    Section,
    Series,
    Table,
    Threshold,
    chance,
    number,
    ranged,
    series,
)
from specplan.reports.page.target_sliders import target_explorer
from specplan.reports.simulated import POLICIES
from specplan.reports.traffic_limits import overloaded

Json = Mapping[str, Any]
FLAGS = "With --engine SERVER (vllm, sglang, ...) the command also gives that server's flags."
WAYS = {True: "with speculation", False: "without"}
_FIXED = {"fixed": WAYS[True], "none": WAYS[False]}
_HIGHEST = 2.5  # times the target, or the largest trusted time, where curves end
# Rates that keep the targets, by name in JSON.
_WITHIN = {
    "slo_requests_per_second": "Mean times meet the targets",
    "most_requests_per_second_at_share": "{} of the requests meet them",
}


def traffic_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan traffic`."""
    answer = document.data
    rows = [point for point in answer["rows"] if point["rate"] not in overloaded(answer["rows"])]
    targets = latency_targets(answer)
    simulated = answer.get("simulated") or []
    charts = [
        _times(answer, "tpot_ms", "Time per token", "milliseconds a token", targets),
        _times(answer, "ttft_ms", "Time to the first token", "milliseconds", targets),
    ]
    return Section(
        kind="Traffic",
        about=document.about,
        headline=headline(answer),
        sure=_sure(answer),
        charts=[*charts, *_within(answer)],
        tables=[rate_table(rows), *_simulated_table(simulated)],
        flags=document.flags,
        export=FLAGS,
        inputs=[
            ("prompt tokens", f"{answer['prompt_tokens']:g}"),
            ("output tokens", f"{answer['output_tokens']:g}"),
            *document.inputs,
        ],
        command=document.command,
        notes=answer.get("notes") or (),
        explorer=target_explorer(answer.get("grid"), rows[0]["rate"], targets),
    )


def headline(answer: Json) -> str:
    most, without = answer["most_requests_per_second"], answer["most_requests_per_second_without"]
    drafted = {point["gamma"] for point in answer["rows"] if point["speculation"]}
    ends = f"{ranged(answer, 'most_requests_per_second', '.3g')} requests/s with speculation, "
    ends += f"{ranged(answer, 'most_requests_per_second_without', '.3g')} without"
    crossing = answer["break_even_rate"]
    if drafted == {0}:
        return f"Serve without speculation. Capacity: {without:.3g} requests/s."
    undecided = {point["test_gamma"] for point in answer["schedule"]} - {None, 0}
    more = "raises" if most >= without else "lowers"
    capacity = f"it {more} the capacity to {ends}."
    where = "at every rate" if crossing is None else f"up to {crossing:.3g} requests/s"
    if undecided:
        named = listed([f"{gamma}" for gamma in sorted(undecided)])
        may = f"Speculation may shorten requests {where}" if crossing != 0 else "No gain is likely"
        return f"Undecided: measure K = 0 and K = {named} first. {may}; {capacity}"
    if crossing == 0:
        return f"Do not speculate: it lengthens requests at every rate. Capacity: {ends}."
    return f"Speculate {where}, where it shortens requests; {capacity}"


def _sure(answer: Json) -> list[str]:
    lines = [f"Intervals: {percent()}."] if answer.get("draws") else []
    share = answer.get("share")
    for name, text in _WITHIN.items():
        ends = answer.get(name), answer.get(f"{name}_without")
        if None not in ends:
            words = text.format(f"{100 * share:g} %" if share else "")
            lines.append(
                f"{words} up to {ends[0]:.3g} requests/s with speculation, {ends[1]:.3g} without."
            )
    chances = [
        f"{chance(point['gain_probability'])} at {point['rate']:g}"
        for point in answer["rows"]
        if point["speculation"] and point.get("gain_probability") is not None
    ]
    if chances:
        lines.append(f"Odds of a gain, by requests/s: {', '.join(chances)}.")
    return lines


def latency_targets(answer: Json) -> dict[str, float]:
    """Returns the latency targets in milliseconds, by name."""
    stated = (answer.get("slo") or {}).items()
    return {name.removesuffix("_ms"): limit for name, limit in stated if limit is not None}


def by_way(rows: Sequence[Json], name: str) -> list[Series]:
    """Returns a number by rate with its interval, with speculation and without."""
    lines: list[Series] = []
    for colour, (way, label) in enumerate(WAYS.items()):
        points = (
            (point["rate"], point.get(name), point.get(f"{name}_low"), point.get(f"{name}_high"))
            for point in rows
            if point["speculation"] == way
        )
        lines += series(label, colour, points)
    return lines


def _times(answer: Json, name: str, title: str, unit: str, targets: Mapping[str, float]) -> Chart:
    """Returns a mean time by rate: the closed form as lines, and simulations as dots."""
    target, simulated = targets.get(name.removesuffix("_ms")), answer.get("simulated") or ()
    seen = [point[name] or 0.0 for point in (*answer["rows"], *simulated)
            if not point.get("near_capacity")]  # fmt: skip
    rows = answer.get("by_rate") or answer["rows"]
    few = [
        point for point in rows if (point[name] or 0.0) <= _HIGHEST * max([target or 0.0, *seen])
    ]
    dots: list[Series] = []
    for colour, (policy, way) in enumerate(_FIXED.items()):
        points = ((point["rate"], point[name]) for point in simulated if point["policy"] == policy)
        dots += series(f"{way}, simulated", colour, points, "dots")
    text = "Means in closed form, at the K of each rate. "
    text += "Dots: simulated; near the capacity they are the better ones. " * bool(dots)
    levels = [] if target is None else [Threshold(target, "target")]
    lines, text = [*by_way(few, name), *dots], text + reading(answer)
    return Chart(name.removesuffix("_ms"), f"{title} by rate", text, "requests a second", unit,
                 lines, levels, capacity_spans(answer))  # fmt: skip


def _within(answer: Json) -> list[Chart]:
    """Returns the chart of the share of requests within the targets, by rate and policy."""
    simulated = [point for point in answer.get("simulated") or () if point["goodput"] is not None]
    if not simulated:
        return []
    lines: list[Series] = []
    ordered = sorted(simulated, key=lambda point: (point["policy"], point["rate"]))
    for colour, (policy, points) in enumerate(groupby(ordered, lambda point: point["policy"])):
        shares = ((point["rate"], 100 * point["goodput"] / point["rate"]) for point in points)
        lines += series(_policy(policy), colour, shares, "dots")
    share = answer.get("share")
    levels = [Threshold(100 * share, f"{100 * share:g} %")] if share else []
    reading = "Per cent of simulated requests that meet every latency target."
    return [
        Chart("within", "Requests within the targets", reading, "requests a second", "per cent",
              lines, levels=levels)
    ]  # fmt: skip


def _policy(name: str) -> str:
    return {"none": "without", "fixed": "K fixed"}.get(name, f"K {POLICIES.get(name, name)}")


def rate_table(rows: Sequence[Json], caption: str = "By rate") -> Table:
    """Returns the times and speeds at each rate, with speculation and without."""
    cells = [
        [
            f"{point['rate']:g}",
            WAYS[point["speculation"]],
            str(point["gamma"] or "none"),
            *(
                [number(point.get("batch"), 1), _per_token(point),
                 number(point.get("ttft_ms"), 0), number(point["tokens_per_second"], 0),
                 chance(point.get("gain_probability"))]
                if point["stable"]
                else ["-", "overloaded", "-", "-", "-"]
            ),
        ]
        for point in rows
    ]  # fmt: skip
    return Table(
        caption,
        ["requests/s", "", "K", "batch", "ms per token", "ms to the first token", "tokens/s",
         "odds of a gain"],
        cells,
    )  # fmt: skip


def _per_token(point: Json) -> str:
    """Returns the time per token with its interval, whose high end may be an overload."""
    low, high = point.get("tpot_ms_low"), point.get("tpot_ms_high")
    if low is None or high is not None:
        return ranged(point, "tpot_ms")
    return f"{number(point['tpot_ms'])} [{number(low)}, overloaded]"


def _simulated_table(simulated: Sequence[Json]) -> list[Table]:
    if not simulated:
        return []
    names = ("tpot_ms", "tpot_ms_p50", "tpot_ms_p99", "ttft_ms", "ttft_ms_p50", "ttft_ms_p99")
    cells = [
        [
            f"{point['rate']:g}",
            _policy(point["policy"]),
            *(number(point.get(name), 1) for name in names),
        ]
        for point in simulated
    ]
    heads = [name.replace("_ms", " ms").replace("_", " ") for name in names]
    return [Table("Simulated", ["requests/s", "policy", *heads], cells)]


def burst_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan traffic --burst N`."""
    rows = document.data["rows"]
    names = [f"K = {point['gamma']}" if point["gamma"] else point["policy"] for point in rows]
    best = min(range(len(rows)), key=lambda at: rows[at]["seconds"])
    chart = Chart(
        "burst", "Time to serve the burst", "Seconds until the last token, by draft length.",
        "draft length", "seconds",
        series("seconds", 0, ((at, point["seconds"]) for at, point in enumerate(rows)), "bars"),
        categories=names,
    )  # fmt: skip
    cells = [
        [name, number(point["seconds"]), number(point["improvement_factor"]),
         number(point["tokens_per_second"], 0)]
        for name, point in zip(names, rows, strict=True)
    ]  # fmt: skip
    took, gain = f"{rows[best]['seconds']:.3g} s", rows[best]["improvement_factor"]
    way = {0: "without speculation", None: "with K by batch"}.get(rows[best]["gamma"], names[best])
    return Section(
        kind="Burst",
        about=document.about,
        headline=f"Serve the burst {way}: {took}"
        + f", {gain:.2f} times the speed without speculation" * (rows[best]["gamma"] != 0)
        + ".",
        charts=[chart],
        tables=[Table("By draft length", ["", "seconds", "times faster", "tokens/s"], cells, best)],
        inputs=[("requests", str(document.data["burst"])), *document.inputs],
        command=document.command,
    )
