"""The section of `specplan traffic` for several machines: capacities, and times by rate."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import Chart, Section, Series, Threshold, series
from specplan.reports.page.traffic import WAYS, latency_targets, rate_table

Json = Mapping[str, Any]


def machines_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan traffic` with several `--gpu` or `--tp`."""
    machines = document.data["machines"]
    names = [f"{machine['gpu']}, TP {machine['tp']}" for machine in machines]
    within = "most_requests_per_second_at_share" in machines[0]
    kept = "most_requests_per_second" + "_at_share" * within
    what = "within the targets" if within else "at most"
    speeds = [[one[f"{kept}{end}"] / one["tp"] for end in ("", "_without")] for one in machines]
    best = max(range(len(names)), key=lambda at: max(speeds[at]))
    bars: list[Series] = []
    for colour, way in enumerate(WAYS.values()):
        points = ((at, pair[colour]) for at, pair in enumerate(speeds))
        bars += series(way, colour, points, "bars")
    title = f"Requests/s of a GPU, {what}"
    reading = "The rate of each machine, divided by its GPUs."
    chart = Chart("capacity", title, reading, "machine", "requests a second of a GPU", bars,
                  categories=names)  # fmt: skip
    targets = latency_targets(machines[0])
    return Section(
        kind="Traffic of several machines",
        about=document.about,
        headline=f"{names[best]} serves the most requests/s a GPU: {speeds[best][0]:.3g} with "
        f"speculation, {speeds[best][1]:.3g} without ({what}).",
        charts=[chart, *_times(names, machines, targets)],
        tables=[
            rate_table(machine["rows"], f"By rate: {name}")
            for name, machine in zip(names, machines, strict=True)
        ],
        inputs=document.inputs,
        command=document.command,
        notes=list(dict.fromkeys(note for one in machines for note in one.get("notes") or ())),
    )


def _times(names: list[str], machines: list[Json], targets: Json) -> Iterator[Chart]:
    """Yields the times per token and to the first token by rate, with speculation and without."""
    reading = "Predicted means. A line ends where its machine is near its capacity."
    kinds = {"tpot": "Time per token", "ttft": "Time to the first token"}
    for (short, title), (speculating, way) in product(kinds.items(), WAYS.items()):
        lines: list[Series] = []
        for colour, (name, machine) in enumerate(zip(names, machines, strict=True)):
            points = (
                (point["rate"], point.get(f"{short}_ms"))
                for point in machine["rows"]
                if point["speculation"] == speculating and not point["near_capacity"]
            )
            lines += series(name, colour, points)
        levels = [Threshold(targets[short], "target")] if short in targets else []
        key = f"{short}-{way.split()[0]}"
        yield Chart(key, f"{title} by rate, {way}", reading, "requests a second", "milliseconds",
                    lines, levels=levels)  # fmt: skip
