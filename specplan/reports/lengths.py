"""The draft lengths of several plans by batch or by context: ranges, and the advice in words."""

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from simulator.choice.odds import percentage
from simulator.numerics.intervals import percent

Json = Mapping[str, Any]
GAIN = "improvement_factor"
# With more ranges, a sentence joins neighbouring ranges of one state.
_NAMED, _WITH_ODDS = 8, 4
_OPENINGS = {True: "draft ", False: "expected: ", None: "do not speculate "}


class Part(NamedTuple):
    """A range of batches or contexts with one draft length.

    gamma: draft length to use or to measure; 0: no speculation.
    state: whether the draft length is decided; None: no speculation is faster. A server that has
      its draft anyway then uses `gamma`, since drafting nothing has a price.
    """

    first: int
    last: int
    gamma: int
    state: bool | None


def lengths_sentence(rows: Sequence[Json], parts: Sequence[Part], name: str, first: str) -> str:
    """Returns the draft length and the speed-ups of each range.

    name: name of the setting by which rows differ.
    first: the runs that decide, as text; "": none.
    """
    said = []
    for state, groups in groupby(_groups(parts, _NAMED), lambda group: group[0].state):
        texts = []
        for group in groups:
            lengths = ends_of([part.gamma for part in group], "")
            gains = ends_of(
                [shown_point(point)[GAIN] for point in _inside(rows, group, name)], ".2f"
            )
            named, said_gains = f"K = {lengths} ", f"{gains} times"
            if state is None:
                anyway = f"; K = {lengths} if the server has its draft anyway" * (lengths != "0")
                named, said_gains = "", f"the best K gives {gains} times{anyway}"
            texts.append(f"{named}{_where(group, parts, name)} ({said_gains})")
        said.append(_OPENINGS[state] + ", ".join(texts))
    text = "; ".join(said).replace(" times", " times the speed without speculation", 1)
    text = f"{text[0].upper()}{text[1:]}."
    if parts[0].state is False:
        return f"Run {first} first. {text}"
    if any(part.state is False for part in parts):
        return f"{text} For what is expected, run {first} first."
    confirms = any(point["fastest_run"] for point in rows if fits(point))
    return f"{text}{f' Confirm what was not run: run {first} next.' * confirms}"


def odds_sentence(rows: Sequence[Json], parts: Sequence[Part], name: str) -> str:
    """Returns the interval of the speed-ups and the odds of a gain of each range; "" without."""
    if any(point["gain_probability"] is None for point in rows if fits(point)):
        return ""
    texts = []
    for group in _groups(parts, _WITH_ODDS):
        inside = _inside(rows, group, name)
        low, high = (choose(shown_point(point)[f"{GAIN}_{end}"] for point in inside)
                     for choose, end in ((min, "low"), (max, "high")))  # fmt: skip
        chances = percentage(*(point["gain_probability"] for point in inside))
        at = _where(group, parts, name)
        texts.append(f"{low:.2f} to {high:.2f} times and {chances} {at}")
    return f"Intervals ({percent()}) and odds of a gain: {'; '.join(texts)}."


def shown_point(point: Json) -> Json:
    """Returns the numbers at a row's draft length, which is above 0 where any can run.

    It is the stated one, if any, else the advised or best one.
    """
    chosen = point["gamma"] not in (0, point["optimal_gamma"])
    return point if chosen else point.get("drafting") or point


def fits(point: Json) -> bool:
    """Returns whether a row of a plan fits into memory."""
    return point.get("fits") is not False


def ends_of(values: Sequence[float], form: str) -> str:
    """Returns the smallest and the largest number as text, once if they look alike."""
    return " to ".join(dict.fromkeys(f"{end(values):{form}}" for end in (min, max)))


def _groups(parts: Sequence[Part], most: int) -> list[list[Part]]:
    """Returns each range by itself; if there are more than most, ranges of one state together."""
    if len(parts) <= most:
        return [[part] for part in parts]
    return [list(group) for _, group in groupby(parts, lambda part: part.state)]


def _inside(rows: Sequence[Json], group: Sequence[Part], name: str) -> list[Json]:
    first, last = group[0].first, group[-1].last
    some = [point for point in rows if fits(point)]
    # A range between two rows has the numbers of the row before.
    return [point for point in some if first <= point[name] <= last] or [
        max((point for point in some if point[name] <= last), key=lambda point: point[name])
    ]


def listed(ranges: Sequence[tuple[int, int, int]], name: str) -> str:
    """Returns ranges, each with its first and last batch or context and its draft length."""
    parts = [Part(*part, None) for part in ranges]
    return ", ".join(f"K = {part.gamma} {_where([part], parts, name)}" for part in parts)


def _where(group: Sequence[Part], parts: Sequence[Part], name: str) -> str:
    first, last = group[0].first, group[-1].last
    if first == last:
        return f"at {name} {last}"
    begins = group[0] is parts[0]
    return f"up to {name} {last}" if begins else f"from {name} {first} to {last}"


def ranges_of(data: Json, settings: Sequence[str]) -> list[Part]:
    """Returns the draft lengths by batch or by context; [] if the rows differ otherwise."""
    rows = [point for point in data["rows"] if fits(point)]
    if not rows or settings not in (["batch"], ["context"]):
        return []
    name = settings[0]
    ranges = [(at[name], at["test_gamma"] or at["advised_gamma"] or 0) for at in rows]
    if settings == ["batch"] and data.get("schedule"):
        ranges = [(part["last_batch"] or rows[-1][name], part["gamma"] or part["test_gamma"] or 0)
                  for part in data["schedule"]]  # fmt: skip
    elif data.get("by_context"):
        ranges = [(part["last_context"], part["gamma"]) for part in data["by_context"]]
    states = {point[name]: _state(point) for point in rows}
    parts: list[Part] = []
    first = rows[0][name]
    for last, gamma in ranges:
        inside = {at: states[at] for at in states if first <= at <= last} or {last: True}
        ends = [at for at, after in pairwise(inside) if inside[at] != inside[after]] + [last]
        for end in ends:
            state = inside[max(at for at in inside if at <= end)] if gamma else None
            if parts and (parts[-1].gamma, parts[-1].state) == (gamma, state):
                first = parts.pop().first
            parts.append(Part(first, end, gamma, state))
            first = end + 1
    return parts


def _state(point: Json) -> bool | None:
    """Returns `Part.state` of one row."""
    return False if point["first_runs"] else (True if point["advised_gamma"] else None)
