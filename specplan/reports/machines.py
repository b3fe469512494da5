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
    """Returns which machines serve the stated rates, and which serves the most requests a GPU."""
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
    sure = "lie apart" if ends[0] > ends[1] else "overlap: measure both before you choose"
    doubt = f" The {percent()} intervals of their capacities {sure}." * all(ends)
    (best, most), (second, next_most) = parts
    return (
        f"{_served(rows, names)} Another question is which serves the most requests a GPU{where}: "
        f"{best}, {most}. Second: {second}, {next_most}.{doubt}"
    )


def _served(rows: Sequence[Json], names: Sequence[str]) -> str:
    """Returns which machines serve all stated rates, and where the others fail."""
    fine, others = list[str](), list[str]()
    for at in ranked_machines(rows):
        states = rows[at]["rows"]
        both = zip(states[::2], states[1::2], strict=True)
        failed = [words for ways in both if (words := _failure(ways, rows[at].get("slo") or {}))]
        if failed:
            others.append(f"{names[at]} {' and '.join(failed)}")
        else:
            fine.append(names[at])
    rates = " and ".join(f"{state['rate']:g}" for state in rows[0]["rows"][::2])
    goal = "carry them" if _goal(rows[0]) == MOST else "keep the targets"
    good = f"{' and '.join(fine)} can {goal}"
    return f"At {rates} requests/s {'; '.join([*[good] * bool(fine), *others])}."


def _failure(ways: Sequence[Json], targets: Mapping[str, float | None]) -> str:
    """Returns how a machine fails at a rate, with speculation and without; "" if it serves it."""
    carried = [way for way in ways if way["stable"]]
    if not carried:
        return f"is overloaded at {ways[0]['rate']:g}/s"
    if any(way["on_target"] is not False for way in carried):
        return ""
    missed = [name.removesuffix("_ms").upper() for name, limit in targets.items()
              if limit is not None and (carried[0][name] or 0.0) > limit]  # fmt: skip
    return f"misses {' and '.join(missed)} at {ways[0]['rate']:g}/s"


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
        ("capacity without", capacity("_without")),
        ("with, a GPU", lambda one: f"{one[MOST] / one['tp']:.3g}"),
    ]
    if (goal := _goal(rows[0])) != MOST:
        columns += [("within the targets up to", f"{{{goal}:.3g}}"),
                    ("within them without", f"{{{goal}_without:.3g}}")]  # fmt: skip
    return columns


def machines_text(rows: Sequence[Json], texts: Sequence[str]) -> str:
    """Returns the capacities of machines as a table, then the text of each.

    rows: see `machine_rows`. texts: the answer of each machine as text.
    """
    parts = [f"{one['gpu']}, TP {one['tp']}\n\n{text}"
             for one, text in zip(rows, texts, strict=True)]  # fmt: skip
    sentence = folded(machines_sentence(rows))
    return "\n\n".join([table(rows, machine_columns(rows)), sentence, *parts])
