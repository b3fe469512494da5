"""Text of `specplan size`: the best fleets, what they promise, and other speeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from shlex import quote, split
from textwrap import wrap
from typing import Any

from simulator.choice.odds import percentage
from simulator.numerics.intervals import percent
from specplan.reports.day import HOURS, day_sentences
from specplan.reports.sizing_words import enough, layout
from specplan.reports.table import WIDTH, Column, folded, table

Json = Mapping[str, Any]
# Rows of the table of speeds.
_LEVELS = 7


def sizing_text(data: Json) -> str:
    """Returns the answer in words, and its tables; data: the result of `sizing_json`."""
    if data["best"] is None:
        return folded(data["sentence"])
    rows = fleets(data)
    lines = [folded(data["sentence"]), "", table(rows, fleet_columns(rows)), ""]
    *promises, searched = map(folded, data["promises"])
    again = [shell(data["next_command"])] if data["next_command"] else []
    lines += [*promises, *again, searched, ""]
    if data["drafts"]:
        lines += [table(data["drafts"], draft_columns()), ""]
    if (by_hour := data.get("day")) is not None:
        lines += [*map(folded, day_sentences(by_hour)), "", table(by_hour["hours"], HOURS), ""]
    levels = speed_levels(data["pareto"])
    return "\n".join(
        [
            *lines,
            table(levels, SPEEDS) if levels else "",
            *map(folded, [data["basis"], *data["notes"]]),
        ]
    )


def shell(command: str) -> str:
    """Returns a command over several lines, as a shell takes it."""
    words = " ".join(word.replace(" ", "\0") for word in map(quote, split(command)))
    lines = wrap(words, WIDTH - 6, break_long_words=False, break_on_hyphens=False)
    lines = [line.replace("\0", " ") for line in lines]
    return "  " + " \\\n    ".join(lines)


def fleets(data: Json) -> list[Json]:
    """Returns the best deployments, and the best without speculation after them."""
    rows, plain = data["candidates"], data["best_without"]
    return [*rows, *([] if plain is None or plain in rows else [plain])]


def fleet_columns(every: Sequence[Json]) -> list[Column[Json]]:
    """Returns the columns of a table of deployments; those that are alike in all are left out."""
    columns: list[Column[Json]] = [
        ("GPUs", "{gpus}"),
        ("GPU", "{gpu}"),
        ("replicas", "{replicas}"),
        ("TP", "{tp}"),
    ]
    columns += [
        (name.upper(), f"{{{name}}}")
        for name in ("ep", "dp")
        if any(fleet[name] > 1 for fleet in every)
    ]
    if len({fleet["dtype"] for fleet in every}) > 1:
        columns.append(("format", "{dtype}"))
    if len({fleet["draft"] for fleet in every}) > 1:
        columns.append(("draft", "{draft}"))
    columns += [
        ("K", lambda fleet: str(fleet["gamma"] or "none")),
        ("batch limit", "{batch_limit}"),
        ("median limit/s", "{most_requests_per_second:.3g}"),
        ("binds", "{binds}"),
    ]
    if any(fleet["probability"] is not None for fleet in every):
        columns.append(("enough", lambda fleet: enough(fleet["probability"]) or "-"))
    if any(fleet["price"] is not None for fleet in every):
        columns.append(("price/hour", "{price:.2f}"))
    return columns


def draft_columns() -> list[Column[Json]]:
    """Returns the columns of a table with the cheapest deployment of each draft."""

    def saved(fleet: Json, text: str) -> str:
        given = fleet["saved_gpus"]
        if given is None or given["low"] is None or given["high"] is None:
            return "-"
        return text.format(**given, odds=percentage(given["probability"]))

    return [
        ("draft", "{draft}"),
        ("K", "{gamma}"),
        ("GPUs", "{gpus}"),
        ("deployed", lambda fleet: f"{fleet['replicas']} × {fleet['gpu']}, {_layout(fleet)}"),
        ("GPUs fewer than without", lambda fleet: saved(fleet, "{value}")),
        (percent(), lambda fleet: saved(fleet, "{low:.0f} to {high:.0f}")),
        ("fewer", lambda fleet: saved(fleet, "{odds}")),
    ]


def _layout(fleet: Json) -> str:
    return layout(fleet["tp"], fleet["ep"], fleet["dp"])


def speed_levels(pareto: Iterable[Json]) -> list[Json]:
    """Returns rows by a user's tokens/s: the best deployment that is at least so fast.

    with, without: the points with and without speculation; gain: per cent more tokens/s of a GPU.
    """
    points = list(pareto)
    users = [point["tokens_per_second_per_user"] for point in points]
    if not users:
        return []
    low, high = min(users), max(users)
    rows: list[Json] = []
    for level in (low * (high / low) ** (place / _LEVELS) for place in range(_LEVELS)):
        drafting, plain = (_at_least(points, level, way) for way in (True, False))
        gain = None
        if drafting is not None and plain is not None:
            gain = 100 * (drafting[_GPU] / plain[_GPU] - 1)
        rows.append({"level": level, "gain": gain, "with": drafting, "without": plain})
    return rows


def setting(point: Json) -> str:
    """Returns what a point of speeds runs, for example `h100, TP 2, K 3`."""
    drafts = f", K {point['gamma']}" if point["gamma"] else ""
    return f"{point['gpu']}, {_layout(point)}{drafts}"


_GPU = "tokens_per_second_per_gpu"
SPEEDS: Sequence[Column[Json]] = (
    ("tokens/s a user", "{level:.0f}"),
    ("tokens/s a GPU with speculation", lambda level: _speed(level["with"])),
    ("without", lambda level: _speed(level["without"])),
    ("more", "{gain:+.0f} %"),
)


def _at_least(points: Iterable[Json], level: float, speculation: bool) -> Json | None:
    fast = [
        point
        for point in points
        if point["speculation"] == speculation and point["tokens_per_second_per_user"] >= level
    ]
    return max(fast, key=lambda point: point[_GPU], default=None)


def _speed(point: Json | None) -> str:
    return "-" if point is None else f"{point[_GPU]:.0f} ({setting(point)})"
