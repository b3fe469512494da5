"""The section of `specplan traffic` for several machines: capacities, and times by rate."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.numerics.intervals import percent
from specplan.reports.basis import SOURCE
from specplan.reports.machines import (
    MOST,
    WAYS,
    machine_columns,
    machine_names,
    machines_details,
    ranked_machines,
)
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import Chart, Mark, Section, Series, Table, Threshold, series
from specplan.reports.page.traffic import FLAGS, latency_targets, planned_again
from specplan.reports.table import cells

Json = Mapping[str, Any]
_TIMES = {"tpot": "Time per token", "ttft": "Time to the first token"}
_READING = (
    "Predicted means; dashed, or a ring for one rate: without speculation. A line ends where its "
    "machine is near its capacity."
)


def machines_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan traffic` with several `--gpu` or `--tp`."""
    machines = document.data["machines"]
    names, (heads, *lines) = machine_names(machines), cells(machines, machine_columns(machines))
    targets = latency_targets(machines[0])
    basis = [SOURCE.sub("", one["basis"].replace(one["gpu"], "each GPU")) for one in machines]
    return Section(
        kind="Traffic of several machines",
        about=document.about,
        headline=document.data["sentence"],
        sure=machines_details(machines),
        charts=[
            _capacities(machines, names),
            *(_times(machines, names, name, targets.get(name)) for name in _TIMES),
        ],
        tables=[Table("Requests a second by machine", heads, lines, ranked_machines(machines)[0])],
        flags={**document.flags, **planned_again(machines[ranked_machines(machines)[0]])},
        export=FLAGS,
        inputs=document.inputs,
        command=document.command,
        basis=" ".join(dict.fromkeys(basis)),
        notes=_notes(machines, names),
    )


def _notes(machines: Sequence[Json], names: Sequence[str]) -> list[str]:
    """Returns the notes of all machines, each with the machines that it speaks of unless all."""
    owners: dict[str, list[str]] = {}
    for name, one in zip(names, machines, strict=True):
        for note in one["notes"]:
            owners.setdefault(note, []).append(name)
    return [
        note if len(some) == len(names) else f"{', '.join(some)}: {note}"
        for note, some in owners.items()
    ]


def _capacities(machines: Sequence[Json], names: Sequence[str]) -> Chart:
    dots: list[Series] = []
    for colour, (end, way) in enumerate(zip(("", "_without"), WAYS.values(), strict=True)):
        points = (
            (at, *(
                None if one.get(f"{MOST}{end}{side}") is None
                else one[f"{MOST}{end}{side}"] / one["tp"]
                for side in ("", "_low", "_high")
            ))
            for at, one in enumerate(machines)
        )  # fmt: skip
        dots += series(way, colour, points, "dots")
    reading = "Dots: capacity divided by the machine's GPUs."
    if (goal := f"{MOST}_at_share") in machines[0]:
        share = f"{100 * machines[0]['share']:.0f} % within the targets"
        reading += f" Rings: up to so many requests are {share}."
        for colour, (end, way) in enumerate(zip(("", "_without"), WAYS.values(), strict=True)):
            rates = ((at, one[f"{goal}{end}"] / one["tp"]) for at, one in enumerate(machines))
            dots += series(f"{share}, {way}", colour, rates, "rings")
    doubt = any(one.get(f"{MOST}_low") is not None for one in machines)
    return Chart(
        "capacity", "Requests a second of a GPU",
        reading + f" Lines: {percent()} intervals." * doubt,
        "machine", "requests a second", dots, categories=names,
    )  # fmt: skip


def _times(
    machines: Sequence[Json], names: Sequence[str], name: str, target: float | None
) -> Chart:
    """Returns the time per token or to the first token by rate, a colour for each machine."""
    lines: list[Series] = []
    for colour, one in enumerate(machines):
        rows = [at for at in one["rows"] if at["stable"] and not at["near_capacity"]]
        for drafts, way in WAYS.items():
            points = [(at["rate"], at[f"{name}_ms"]) for at in rows if at["speculation"] == drafts]
            marks: tuple[Mark, Mark] = ("line", "dashed") if len(points) > 1 else ("dots", "rings")
            lines += series(f"{names[colour]}, {way}", colour, points, marks[not drafts])
    levels = [] if target is None else [Threshold(target, "target")]
    return Chart(f"{name}_ms", f"{_TIMES[name]} by rate", _READING, "requests a second",
                 "milliseconds", lines, levels)  # fmt: skip
