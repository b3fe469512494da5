"""The section of `specplan traffic` for several machines: capacities, and times by rate."""

from itertools import product

from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import Chart, Section, Series, series
from specplan.reports.page.traffic import WAYS

_TIMES = {"tpot_ms": "Time per token", "ttft_ms": "Time to the first token"}
_READING = "Predicted means. A line ends where its machine is near its capacity."


def machines_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan traffic` with several `--gpu` or `--tp`."""
    machines, key = document.data["machines"], "most_requests_per_second"
    names = [f"{one['gpu']}, TP {one['tp']}" for one in machines]
    speeds = [[one[f"{key}{end}"] / one["tp"] for end in ("", "_without")] for one in machines]
    best = max(range(len(names)), key=lambda at: max(speeds[at]))
    head = f"{names[best]} has the largest capacity a GPU: {speeds[best][0]:.3g} requests/s with "
    bars: list[Series] = []
    for colour, way in enumerate(WAYS.values()):
        bars += series(way, colour, ((at, both[colour]) for at, both in enumerate(speeds)), "bars")
    charts = [Chart("capacity", "Capacity of a GPU", "Capacity divided by the machine's GPUs.",
                    "machine", "requests a second", bars, categories=names)]  # fmt: skip
    for (time, title), (drafts, way) in product(_TIMES.items(), WAYS.items()):
        lines: list[Series] = []
        for colour, one in enumerate(machines):
            rows = [point for point in one["rows"] if not point["near_capacity"]]
            points = ((at["rate"], at[time]) for at in rows if at["speculation"] == drafts)
            lines += series(names[colour], colour, points)
        charts.append(Chart(f"{time}-{drafts}", f"{title} by rate, {way}", _READING,
                            "requests a second", "milliseconds", lines))  # fmt: skip
    head += f"speculation, {speeds[best][1]:.3g} without."
    return Section(kind="Traffic of several machines", about=document.about, headline=head,
                   charts=charts, inputs=document.inputs, command=document.command)  # fmt: skip
