"""The section of `specplan traffic` for several machines: capacities, and times by rate."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.numerics.intervals import percent
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import Chart, Section, Series, Table, Threshold, ranged, series
from specplan.reports.page.traffic import FLAGS, WAYS, headline, latency_targets

Json = Mapping[str, Any]
_MOST = "most_requests_per_second"
_TIMES = {"tpot": "Time per token", "ttft": "Time to the first token"}
_READING = (
    "Predicted means; dashed: without speculation. A line ends where its machine is near its "
    "capacity."
)


def machines_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan traffic` with several `--gpu` or `--tp`."""
    machines = document.data["machines"]
    names = _names(machines)
    targets = latency_targets(machines[0])
    notes = [note for one in machines for note in one.get("notes") or ()]
    return Section(
        kind="Traffic of several machines",
        about=document.about,
        headline=_headline(machines, names),
        sure=[
            f"{name}: {headline(one)[0].lower()}{headline(one)[1:]}"
            for name, one in zip(names, machines, strict=True)
        ],
        charts=[
            _capacities(machines, names),
            *(_times(machines, names, name, targets.get(name)) for name in _TIMES),
        ],
        tables=[_table(machines, names)],
        flags=document.flags,
        export=FLAGS,
        inputs=document.inputs,
        command=document.command,
        notes=list(dict.fromkeys(notes)),
    )


def _names(machines: Sequence[Json]) -> list[str]:
    """Returns each machine's GPU, and its TP where that differs."""
    alike = len({one["tp"] for one in machines}) == 1
    return [one["gpu"] + f", TP {one['tp']}" * (not alike) for one in machines]


def _headline(machines: Sequence[Json], names: Sequence[str]) -> str:
    """Returns which machine carries the most requests with each of its GPUs."""
    promised = all(f"{_MOST}_at_share" in one for one in machines)
    key = f"{_MOST}_at_share" if promised else _MOST
    speeds = [[one[f"{key}{end}"] / one["tp"] for end in ("", "_without")] for one in machines]
    best = max(range(len(names)), key=lambda at: max(speeds[at]))
    ways = sorted(zip(speeds[best], WAYS.values(), strict=True), reverse=True)
    (most, way), (other, less) = ways
    where = " within the targets" if promised else ""
    return (
        f"{names[best]} carries the most requests a GPU{where}: {most:.3g} a second {way}, "
        f"{other:.3g} {less}."
    )


def _capacities(machines: Sequence[Json], names: Sequence[str]) -> Chart:
    dots: list[Series] = []
    for colour, (end, way) in enumerate(zip(("", "_without"), WAYS.values(), strict=True)):
        points = (
            (at, *(
                None if one.get(f"{_MOST}{end}{side}") is None
                else one[f"{_MOST}{end}{side}"] / one["tp"]
                for side in ("", "_low", "_high")
            ))
            for at, one in enumerate(machines)
        )  # fmt: skip
        dots += series(way, colour, points, "dots")
    doubt = any(one.get(f"{_MOST}_low") is not None for one in machines)
    return Chart(
        "capacity", "Capacity of a GPU",
        "Capacity divided by the machine's GPUs." + f" Lines: {percent()} intervals." * doubt,
        "machine", "requests a second", dots, categories=names,
    )  # fmt: skip


def _times(
    machines: Sequence[Json], names: Sequence[str], name: str, target: float | None
) -> Chart:
    """Returns the time per token or to the first token by rate, a colour for each machine."""
    lines: list[Series] = []
    for colour, one in enumerate(machines):
        rows = [point for point in one["rows"] if not point["near_capacity"]]
        for drafts, way in WAYS.items():
            points = ((at["rate"], at[f"{name}_ms"]) for at in rows if at["speculation"] == drafts)
            lines += series(f"{names[colour]}, {way}", colour, points,
                            "line" if drafts else "dashed")  # fmt: skip
    levels = [] if target is None else [Threshold(target, "target")]
    return Chart(f"{name}_ms", f"{_TIMES[name]} by rate", _READING, "requests a second",
                 "milliseconds", lines, levels)  # fmt: skip


def _table(machines: Sequence[Json], names: Sequence[str]) -> Table:
    promised = all(f"{_MOST}_at_share" in one for one in machines)
    columns = ["machine", "GPUs", "capacity with speculation", "without"]
    columns += ["within the targets up to", "without"] * promised
    cells = [
        [
            name, str(one["tp"]), ranged(one, _MOST, ".3g"), ranged(one, f"{_MOST}_without", ".3g"),
            *(f"{one[f'{_MOST}_at_share{end}']:.3g}" for end in ("", "_without") if promised),
        ]
        for name, one in zip(names, machines, strict=True)
    ]  # fmt: skip
    return Table("Requests a second by machine", columns, cells)
