"""The section of a server under load: times by rate, capacity, and the share within targets."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from specplan.reports.machines import WAYS
from specplan.reports.page.capacity import capacity_spans, reading
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import Chart, Section, Series, Table, Threshold, number, series
from specplan.reports.page.target_sliders import target_explorer
from specplan.reports.rate_rows import (
    BY_BATCH,
    POLICIES,
    rate_columns,
    row_remark,
    simulated_columns,
)
from specplan.reports.table import cells
from specplan.reports.traffic_words import few_overloaded

Json = Mapping[str, Any]
FLAGS = "With --engine SERVER (vllm, sglang, ...) the command also gives that server's flags."
_FIXED = {"fixed": WAYS[True], "none": WAYS[False]}
_HIGHEST = 2.5  # times the target, or the largest trusted time, where curves end


def traffic_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan traffic`."""
    answer = document.data
    targets = latency_targets(answer)
    charts = [
        _times(answer, "tpot_ms", "Time per token", "milliseconds a token", targets),
        _times(answer, "ttft_ms", "Time to the first token", "milliseconds", targets),
    ]
    return Section(
        kind="Traffic",
        about=document.about,
        headline=answer["sentence"],
        sure=answer["details"],
        charts=[*charts, *_within(answer)],
        tables=_tables(answer),
        flags={**document.flags, **planned_again(answer)},
        export=FLAGS,
        inputs=[
            ("prompt tokens", f"{answer['prompt_tokens']:g}"),
            ("output tokens", f"{answer['output_tokens']:g}"),
            *document.inputs,
        ],
        command=document.command,
        notes=answer.get("notes") or (),
        explorer=target_explorer(
            answer.get("grid"),
            answer["rows"][0]["rate"],
            targets,
            simulated=bool(answer.get("simulated")),
        ),
    )


def planned_again(answer: Json) -> dict[str, str]:
    """Returns the command with the next runs as an entry among flags; {} if there is none."""
    command = answer.get("next_command")
    return {"plan again, with the runs' numbers": command} if command else {}


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
        lines += series(_policy(policy), colour, shares, "rings" if colour else "dots")
    share = answer.get("share")
    levels = [Threshold(100 * share, f"{100 * share:g} %")] if share else []
    reading = (
        "Per cent of simulated requests that meet every latency target. A ring around a dot or "
        "ring has the same value."
    )
    return [
        Chart("within", "Requests within the targets", reading, "requests a second", "per cent",
              lines, levels=levels)
    ]  # fmt: skip


def _policy(name: str) -> str:
    return {"none": "without", "fixed": "K fixed"}.get(name, f"K {POLICIES.get(name, name)}")


def _tables(answer: Json) -> list[Table]:
    """Returns the tables of rates and simulations."""
    columns = [column for column in rate_columns(answer) if column[0] != BY_BATCH]
    heads, *rates = cells(few_overloaded(answer["rows"]), [*columns, ("remark", row_remark)])
    heads = ["request speed-up" if head == "speed-up" else head for head in heads]
    tables = [("By rate", [heads, *rates])]
    if simulated := answer.get("simulated"):
        tables.append(("Simulated, milliseconds", cells(simulated, simulated_columns(simulated))))
    return [Table(caption, heads, lines) for caption, (heads, *lines) in tables]


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
    lines = [
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
        tables=[Table("By draft length", ["", "seconds", "times faster", "tokens/s"], lines, best)],
        inputs=[("requests", str(document.data["burst"])), *document.inputs],
        command=document.command,
    )
