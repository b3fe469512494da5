"""The section of `specplan traffic` for several machines: capacities, and times by rate."""

from collections.abc import Iterator, Mapping
from typing import Any

from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import Chart, Section, Series, Table, Threshold, number, series
from specplan.reports.page.traffic import WAYS, latency_targets, rate_table

Json = Mapping[str, Any]
_MOST = "most_requests_per_second"


def machines_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan traffic` with several `--gpu` or `--tp`."""
    machines: list[Json] = document.data["machines"]
    names = [f"{each['gpu']}, TP {each['tp']}" for each in machines]
    kept = f"{_MOST}_at_share" if f"{_MOST}_at_share" in machines[0] else _MOST
    what = "within the targets" if kept != _MOST else "at most"
    speeds = [_of_a_gpu(each, kept) for each in machines]
    best = max(range(len(names)), key=lambda at: max(speeds[at]))
    chart = Chart(
        "capacity",
        f"Requests/s of a GPU, {what}",
        "The rate of each machine, divided by its GPUs.",
        "machine",
        "requests a second of a GPU",
        [
            bar
            for colour, way in enumerate(WAYS.values())
            for bar in series(way, colour, ((at, pair[colour]) for at, pair in enumerate(speeds)),
                              "bars")
        ],
        categories=names,
    )  # fmt: skip
    cells = [
        [name, *(number(each[f"{kept}{way}"]) for way in ("", "_without")),
         *map(number, pair)]
        for name, each, pair in zip(names, machines, speeds, strict=True)
    ]  # fmt: skip
    heads = ["machine", *WAYS.values(), *(f"{way}, a GPU" for way in WAYS.values())]
    drafting, plain = speeds[best]
    targets = latency_targets(machines[0].get("slo") or document.options.get("--slo", ""))
    return Section(
        kind="Traffic of several machines",
        about=document.about,
        headline=f"{names[best]} serves the most requests/s a GPU: {drafting:.3g} with "
        f"speculation, {plain:.3g} without ({what}).",
        charts=[chart, *_times(names, machines, targets)],
        tables=[
            Table(f"Requests/s, {what}", heads, cells, best),
            *(rate_table(each["rows"], f"By rate: {name}")
              for name, each in zip(names, machines, strict=True)),
        ],
        inputs=document.inputs,
        command=document.command,
        notes=list(dict.fromkeys(note for each in machines for note in each.get("notes") or ())),
    )  # fmt: skip


def _of_a_gpu(machine: Json, key: str) -> tuple[float, float]:
    """Returns the rate with speculation and without, divided by the machine's GPUs."""
    return machine[key] / machine["tp"], machine[f"{key}_without"] / machine["tp"]


def _times(names: list[str], machines: list[Json], targets: Mapping[str, float]) -> Iterator[Chart]:
    """Yields the times per token and to the first token by rate, with speculation and without."""
    kinds = (("tpot", "Time per token"), ("ttft", "Time to the first token"))
    for (short, title), (speculating, way) in ((k, w) for k in kinds for w in WAYS.items()):
        lines: list[Series] = []
        for colour, (name, each) in enumerate(zip(names, machines, strict=True)):
            points = (
                (point["rate"], point.get(f"{short}_ms"))
                for point in each["rows"]
                if point["speculation"] == speculating and not point["near_capacity"]
            )
            lines += series(name, colour, points)
        yield Chart(
            f"{short}-{'with' if speculating else 'without'}",
            f"{title} by rate, {way}",
            "Predicted means for requests that arrive at random. A line ends where its machine is "
            "near its capacity.",
            "requests a second",
            "milliseconds",
            lines,
            levels=[Threshold(targets[short], "target")] if short in targets else [],
        )
