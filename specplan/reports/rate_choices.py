"""K by rate of requests, and the one K of a server that serves all rates: JSON and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isclose, isfinite
from typing import Any

from simulator.numerics.intervals import percent
from simulator.traffic.answer import Traffic
from simulator.traffic.row import Interval

BEST_BY_RATE = "Best by rate"  # the first words of `ranges_lines`
Json = Mapping[str, Any]
_GAINS = ("gain", "measure")
# An end is the capacity if it is lower by at most this share.
_SAME = 0.01
_WHY = {"overloaded": "is overloaded", "misses": "misses the targets on average"}


def choices_json(answer: Traffic) -> dict[str, Any]:
    """Returns the ranges of rates, and the one setting; None: each rate has the same choice."""
    choices = answer.choices
    return {
        "ranges": [
            {"last_rate": part.last if isfinite(part.last) else None, "gamma": part.gamma,
             "verdict": part.verdict}
            for part in choices.ranges
        ],
        "one_setting": None if choices.gamma is None else {
            "gamma": choices.gamma,
            "speed_up": choices.speed_up,
            "against": [against._asdict() for against in choices.against],
        },
    }  # fmt: skip


def ranges_words(data: Json) -> str:
    """Returns each K with the largest rate at which it gains; "" where none does.

    data: the JSON object of the answer.
    """
    ends, capacity = _ends(data["ranges"]), _sustained(data)
    if not ends:
        return ""
    parts = [f"{_choice(gamma)} up to {rate:.3g}" for gamma, rate in ends]
    if not capacity:
        return f"{', '.join(parts)} requests/s"
    last = _choice(ends[-1][0])
    if not parts[:-1]:
        return f"{last} at every rate below the capacity"
    return f"{', '.join(parts[:-1])}, {last} up to the capacity, {capacity:.3g} requests/s"


def _choice(gamma: int) -> str:
    return f"K = {gamma}" if gamma else "no speculation"


def _ends(ranges: Sequence[Json]) -> list[tuple[int, float]]:
    """Returns each K and the end of its range; 0: no speculation, left out if it is the last."""
    ends = list[tuple[int, float]]()
    for part in ranges:
        gamma, last = part["gamma"] if part["verdict"] in _GAINS else 0, part["last_rate"]
        ends = [*(ends[:-1] if ends and ends[-1][0] == gamma else ends), (gamma, last or inf)]
    return ends[:-1] if ends[-1][0] == 0 else ends


def _sustained(data: Json) -> float | None:
    """Returns the capacity with speculation if drafts gain up to it; else None."""
    ends, most = _ends(data["ranges"]), data["most_requests_per_second"]
    gains = data["break_even_rate"] is None and ends and ends[-1][1] >= (1 - _SAME) * most
    return most if gains else None


def ranges_lines(data: Json, ends: Interval | None) -> list[str]:
    """Returns the K of every rate, and up to which rate speculation shortens requests.

    data: the JSON object of the answer. ends: the interval of that rate; None: exact.
    """
    words, edge = ranges_words(data), data["break_even_rate"]
    doubt = "" if ends is None or ends[0] >= ends[1] else _between(*ends)
    start = BEST_BY_RATE + ", if runs confirm it" * bool(data["to_run"])
    above = ", no speculation above" * (_sustained(data) is None)
    if words and edge is not None and isclose(_ends(data["ranges"])[-1][1], edge):
        return [f"{start}: {words}{doubt}{above}."]
    rates: dict[float | None, str] = {None: "at every rate", 0: "at no rate"}
    rate = rates.get(edge, f"up to {edge or 0:.3g} requests/s")
    doubtful = [f"Most probably speculation shortens requests {rate}{doubt}."] * bool(doubt)
    return [*([f"{start}: {words}{above}."] if words else []), *doubtful]


def _between(low: float, high: float) -> str:
    return f" ({percent()}: {low:.3g} to {high:.3g})".replace("inf", "every rate")


def one_setting_lines(data: Json) -> list[str]:
    """Returns the K for a server that keeps it at all stated rates; [] if no rate differs."""
    one = data["one_setting"]
    if one is None:
        return []
    rates = [f"{point['rate']:g}" for point in data["rows"][::2]]
    start = f"If only one setting can serve {', '.join(rates[:-1])} and {rates[-1]} requests/s, "
    way = f"set K = {one['gamma']}" if one["gamma"] else "do not speculate"
    way += ", if runs confirm it" * (bool(data["to_run"]) and one["gamma"] > 0)
    if one["gamma"] and one["speed_up"] is not None:
        way += f" ({one['speed_up']:.2f} times as fast on average over these rates)"
    why = [f"{_way(other['gamma'])} {_WHY[other['why']]} at {other['rate']:g}/s"
           for other in one["against"] if other["why"] in _WHY]  # fmt: skip
    slower = [_way(other["gamma"]) for other in one["against"] if other["why"] == "slower"]
    if slower:
        why.append(
            f"{' and '.join(slower)} {'is' if len(slower) == 1 else 'are'} slower on average"
        )
    by_rate = " The runs decide the K by rate, not this." * (
        bool(data["to_run"]) and one["gamma"] == 0
    )
    return [f"{start}{way}: {', '.join(why)}.{by_rate}"]


def _way(gamma: int) -> str:
    return f"K = {gamma}" if gamma else "a server without speculation"
