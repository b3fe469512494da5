"""The draft lengths of a plan by batch or by context: ranges, in a sentence and as a table."""

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from specplan.reports.page.pictures import Table

Json = Mapping[str, Any]
_STATES = {None: "", True: "advised", False: "undecided: measure it first"}


class Part(NamedTuple):
    """A range of batches or contexts with one draft length.

    gamma: draft length to use or to measure; 0: no speculation.
    state: whether the draft length is decided; None: no speculation.
    """

    first: int
    last: int
    gamma: int
    state: bool | None


def advised_lengths(parts: Sequence[Part], unit: str) -> str:
    """Returns a sentence with the draft lengths, and where speculation stops paying."""
    states = [list(group) for _, group in groupby(parts, lambda part: part.state)]
    text = "; ".join(_words(group, unit, first=at == 0) for at, group in enumerate(states))
    return f"{text[0].upper()}{text[1:]}."


def lengths_table(parts: Sequence[Part], name: str) -> Table:
    """Returns a table of the ranges; name: of the setting."""
    cells = [
        [
            f"{part.first}" if part.first == part.last else f"{part.first} to {part.last}",
            str(part.gamma or "none"),
            _STATES[part.state],
        ]
        for part in parts
    ]
    return Table(f"K by {name}", [name, "K", ""], cells)


def fits(point: Json) -> bool:
    """Returns whether a row of a plan fits into memory."""
    return point.get("fits") is not False


def _words(parts: Sequence[Part], unit: str, *, first: bool) -> str:
    """Returns the advice for neighbouring parts of one state; first: none comes before them."""
    start, end = parts[0].first, parts[-1].last
    where = f"from {unit} {start} to {end}"
    if first or start == end:
        where = f"at {unit} {end}" if start == end else f"up to {unit} {end}"
    if parts[0].state is None:
        return f"no K gains {where}"
    lengths = sorted({part.gamma for part in parts})
    named = f"K = {lengths[0]}" + f" to {lengths[-1]}" * (len(lengths) > 1)
    return f"{named} {where}" if parts[0].state else f"undecided {where}: measure {named} and K = 0"


def ranges_of(data: Json, settings: Sequence[str]) -> list[Part]:
    """Returns the draft lengths by batch or by context; [] if the rows differ otherwise."""
    rows = data["rows"]
    if settings not in (["batch"], ["context"]):
        return []
    name, ranges = settings[0], [(point[settings[0]], _length(point)) for point in rows]
    if settings == ["batch"] and data.get("schedule"):
        ranges = [(part["last_batch"] or rows[-1][name], part["gamma"] or part["test_gamma"] or 0)
                  for part in data["schedule"]]  # fmt: skip
    elif data.get("by_context"):
        ranges = [(part["last_context"], part["gamma"]) for part in data["by_context"]]
    undecided = {point[name]: fits(point) and point["test_gamma"] is not None for point in rows}
    parts: list[Part] = []
    first = rows[0][name]
    for last, gamma in ranges:
        inside = {at: undecided[at] for at in undecided if first <= at <= last} or {last: False}
        ends = [at for at, after in pairwise(inside) if inside[at] != inside[after]] + [last]
        for end in ends:
            state = None if not gamma else not inside[max(at for at in inside if at <= end)]
            if parts and (parts[-1].gamma, parts[-1].state) == (gamma, state):
                first = parts.pop().first
            parts.append(Part(first, end, gamma, state))
            first = end + 1
    return parts


def _length(point: Json) -> int:
    return (point["test_gamma"] or point["advised_gamma"] or 0) if fits(point) else 0
