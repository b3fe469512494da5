"""The section of a server under load: times by rate, capacity, and the share within targets."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from simulator.numerics.intervals import percent
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import (
    Chart,
    Section,
    Series,
    Span,
    Table,
    Threshold,
    chance,
    number,
    ranged,
    series,
)

Json = Mapping[str, Any]
WAYS = {True: "with speculation", False: "without"}


def traffic_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan traffic`."""
    found = document.data
    rows, targets = found["rows"], _targets(document)
    simulated = found.get("simulated") or []
    charts = [
        _times(found, "tpot_ms", "Time per token", "milliseconds a token", targets),
        _times(found, "ttft_ms", "Time to the first token", "milliseconds", targets),
    ]
    return Section(
        kind="Traffic",
        about=document.about,
        headline=_headline(found),
        sure=_sure(found),
        charts=[*charts, *_within(simulated, rows)],
        tables=[_table(rows), *_simulated_table(simulated)],
        flags=document.flags,
        inputs=[
            ("prompt tokens", f"{found['prompt_tokens']:g}"),
            ("output tokens", f"{found['output_tokens']:g}"),
            *document.inputs,
        ],
        command=document.command,
        notes=found.get("notes") or (),
    )


def _headline(found: Json) -> str:
    most, without = found["most_requests_per_second"], found["most_requests_per_second_without"]
    drafted = {point["gamma"] for point in found["rows"] if point["speculation"]}
    ends = f"{ranged(found, 'most_requests_per_second')} requests/s with speculation, "
    ends += f"{ranged(found, 'most_requests_per_second_without')} without"
    crossing = found["break_even_rate"]
    if drafted == {0}:
        return f"Serve without speculation. Capacity: {without:.3g} requests/s."
    if crossing is not None:
        return f"Speculate up to {crossing:.3g} requests/s. Capacity: {ends}."
    gains = most >= without
    return f"Speculation {'raises' if gains else 'lowers'} the capacity: {ends}."


def _sure(found: Json) -> list[str]:
    lines = [f"Intervals: {percent()}."] if found.get("draws") else []
    for name, text in (("slo_requests_per_second", "with speculation"),
                       ("slo_requests_per_second_without", "without")):  # fmt: skip
        if found.get(name) is not None:
            lines.append(f"Within the latency targets: up to {found[name]:.3g} requests/s {text}.")
    chances = [
        f"{chance(point['gain_probability'])} at {point['rate']:g}"
        for point in found["rows"]
        if point["speculation"] and point.get("gain_probability") is not None
    ]
    if chances:
        lines.append(f"Odds of a gain, by requests/s: {', '.join(chances)}.")
    return lines


def _targets(document: Document) -> dict[str, float]:
    """Returns the latency targets in milliseconds, by name."""
    stated = document.data.get("slo") or document.options.get("--slo", "")
    if isinstance(stated, Mapping):
        return {
            name.removesuffix("_ms"): value for name, value in stated.items() if value is not None
        }
    parts = (part.partition("=") for part in stated.split(",") if "=" in part)
    return {name.strip(): float(value) for name, _, value in parts}


def _times(found: Json, name: str, title: str, unit: str, targets: Mapping[str, float]) -> Chart:
    rows, made = found["rows"], list[Series]()
    for colour, way in enumerate((True, False)):
        points = (
            (point["rate"], point.get(name), point.get(f"{name}_low"), point.get(f"{name}_high"))
            for point in rows
            if point["speculation"] == way
        )
        made += series(WAYS[way], colour, points)
    rates = [point["rate"] for point in rows]
    capacity = max(found["most_requests_per_second"], found["most_requests_per_second_without"])
    short = name.removesuffix("_ms")
    return Chart(
        short,
        f"{title} by rate",
        "Predicted for requests that arrive at random. Grey: rates beyond the capacity.",
        "requests a second",
        unit,
        made,
        levels=[Threshold(targets[short], "target")] if short in targets else [],
        spans=[Span(capacity, max(rates), "beyond the capacity")] if capacity < max(rates) else [],
    )


def _within(simulated: Sequence[Json], rows: Sequence[Json]) -> list[Chart]:
    """Returns the chart of the share of requests within the targets, by rate and policy."""
    made: list[Series] = []
    ordered = sorted(simulated, key=lambda point: (point["policy"], point["rate"]))
    for colour, (policy, points) in enumerate(groupby(ordered, lambda point: point["policy"])):
        shares = [
            (point["rate"], point.get("share_within", point.get("goodput_share")))
            for point in points
        ]
        made += series(policy, colour, shares)
    reading = "Share of simulated requests that keep every latency target."
    if not made:
        return []
    return [
        Chart("within", "Requests within the targets", reading, "requests a second", "share", made)
    ]


def _table(rows: Sequence[Json]) -> Table:
    cells = [
        [
            f"{point['rate']:g}",
            WAYS[point["speculation"]],
            str(point["gamma"] or "none"),
            *(
                [number(point.get("batch"), 1), ranged(point, "tpot_ms"),
                 number(point.get("ttft_ms"), 0), number(point["tokens_per_second"], 0),
                 chance(point.get("gain_probability"))]
                if point["stable"]
                else ["–", "overloaded", "–", "–", "–"]
            ),
        ]
        for point in rows
    ]  # fmt: skip
    return Table(
        "By rate",
        ["requests/s", "", "K", "batch", "ms per token", "ms to the first token", "tokens/s",
         "odds of a gain"],
        cells,
    )  # fmt: skip


def _simulated_table(simulated: Sequence[Json]) -> list[Table]:
    if not simulated:
        return []
    names = ("tpot_ms", "tpot_ms_p50", "tpot_ms_p99", "ttft_ms", "ttft_ms_p50", "ttft_ms_p99")
    cells = [
        [f"{point['rate']:g}", point["policy"], *(number(point.get(name), 1) for name in names)]
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
    gain = rows[best]["improvement_factor"]
    return Section(
        kind="Burst",
        about=document.about,
        headline=f"{names[best]} serves the burst in {rows[best]['seconds']:.4g} s: {gain:.2f} "
        "times the speed without speculation.",
        charts=[chart],
        tables=[Table("By draft length", ["", "seconds", "times faster", "tokens/s"], cells, best)],
        inputs=[("requests", str(document.data["burst"])), *document.inputs],
        command=document.command,
    )
