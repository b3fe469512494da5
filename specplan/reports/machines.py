"""Several machines of `specplan traffic`: JSON, the sentence that compares them, and text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulator.cost.roofline.hardware import find_hardware
from simulator.numerics.intervals import percent
from specplan.reports.table import Column, folded, ranged, table

Json = Mapping[str, Any]
WAYS = {True: "with speculation", False: "without"}
MOST = "most_requests_per_second"


def machine_rows(
    machines: Sequence[tuple[str, int]], answers: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Returns the JSON answer of each machine with its GPU and TP; machines: (GPU, TP)."""
    both = zip(machines, answers, strict=True)
    return [{"gpu": find_hardware(gpu).name, "tp": tp, **data} for (gpu, tp), data in both]


def machine_names(rows: Sequence[Json]) -> list[str]:
    """Returns each machine's GPU, and its TP where that differs; rows: see `machine_rows`."""
    alike = len({one["tp"] for one in rows}) == 1
    return [one["gpu"] + f", TP {one['tp']}" * (not alike) for one in rows]


def ranked_machines(rows: Sequence[Json]) -> list[int]:
    """Returns the places of machines, that with the most requests a GPU first."""
    return sorted(range(len(rows)), key=lambda at: max(_speeds(rows[at])), reverse=True)


def machines_sentence(rows: Sequence[Json]) -> str:
    """Returns which machine to run and how: that with the most requests a GPU, and how surely."""
    names, order = machine_names(rows), ranked_machines(rows)[:2]
    parts, ends = [], []
    for at, end in zip(order, ("low", "high"), strict=True):
        drafting, plain = _speeds(rows[at])
        way, other = ("with", "without") if drafting > plain else ("without", "with")
        undecided = any(part.get("test_gamma") for part in rows[at]["schedule"])
        first = ", if runs confirm its gain" * (drafting > plain and undecided)
        numbers = f"{max(drafting, plain):.3g}/s ({min(drafting, plain):.3g} {other})"
        parts.append((f"{names[at]} {way} speculation{first}", numbers))
        key = f"{MOST}{'' if drafting > plain else '_without'}_{end}"
        ends.append((rows[at][key] or 0.0) / rows[at]["tp"])
    where = " within the targets" if _goal(rows[0]) != MOST else ""
    sure = "lie apart" if ends[0] > ends[1] else "overlap: run both before you choose"
    doubt = f" The {percent()} intervals of their capacities {sure}." * all(ends)
    (best, most), (second, next_most) = parts
    return f"Most requests a GPU{where}: run {best}, {most}. Next: {second}, {next_most}.{doubt}"


def _goal(one: Json) -> str:
    """Returns the key of the rate that counts: within the targets, if there are any."""
    return f"{MOST}_at_share" if f"{MOST}_at_share" in one else MOST


def _speeds(one: Json) -> list[float]:
    """Returns requests a second of each GPU with speculation and without."""
    return [one[f"{_goal(one)}{way}"] / one["tp"] for way in ("", "_without")]


def machine_columns(rows: Sequence[Json]) -> list[Column[Json]]:
    """Returns the columns of a table of machines; rows: see `machine_rows`."""

    def capacity(way: str) -> Callable[[Json], str]:
        names = [f"{MOST}{way}{end}" for end in ("", "_low", "_high")]
        return lambda one: ranged(one[names[0]], one[names[1]], one[names[2]], ".3g")

    columns: list[Column[Json]] = [
        ("GPU", "{gpu}"),
        ("TP", "{tp}"),
        ("capacity with speculation", capacity("")),
        ("without", capacity("_without")),
        ("with, a GPU", lambda one: f"{one[MOST] / one['tp']:.3g}"),
    ]
    if (goal := _goal(rows[0])) != MOST:
        columns += [("within the targets up to", f"{{{goal}:.3g}}"),
                    ("without", f"{{{goal}_without:.3g}}")]  # fmt: skip
    return columns


def machines_text(rows: Sequence[Json], texts: Sequence[str]) -> str:
    """Returns the capacities of machines as a table, then the text of each.

    rows: see `machine_rows`. texts: the answer of each machine as text.
    """
    parts = [f"{one['gpu']}, TP {one['tp']}\n\n{text}"
             for one, text in zip(rows, texts, strict=True)]  # fmt: skip
    sentence = folded(machines_sentence(rows))
    return "\n\n".join([table(rows, machine_columns(rows)), sentence, *parts])
