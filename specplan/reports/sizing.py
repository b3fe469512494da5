"""Text of `specplan size`: the best fleets, what they promise, and other speeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from simulator.choice.advice import certainty, percentage
from simulator.numerics.intervals import percent
from simulator.traffic.fleet import Fleet
from simulator.traffic.pareto import Point
from simulator.traffic.sizing import Sizing
from specplan.reports.table import Column, folded, table

_LIMITS = {"TTFT": "TTFT", "TPOT": "TPOT", "memory": "Memory", "capacity": "Capacity"}
# Rows of the table of speeds.
_LEVELS = 7
# Below this probability, that fewer GPUs suffice is called unlikely.
_UNLIKELY = 0.4


def sizing_text(
    sizing: Sizing,
    data: dict[str, Any],
    fronts: tuple[Sequence[Point], Sequence[Point]],
    notes: Sequence[str] = (),
) -> str:
    """Returns the answer in words, and its tables; data: the result of `sizing_json`."""
    goal, best = sizing.goal, sizing.best
    if best is None:
        return folded(
            f"No deployment keeps {_targets(sizing)} for {goal.share:.0%} of requests with at most "
            f"{goal.max_gpus} GPUs ({sizing.searched} combinations): loosen a target, allow more "
            "GPUs a replica (--gpus-per-replica), or another draft."
        )
    others = [] if sizing.best_without in sizing.candidates else [data["best_without"]]
    rows = [row for row in [*data["candidates"], *others] if row is not None]
    lines = [folded(_sentence(sizing)), "", _fleets(rows), ""]
    lines += [folded(line) for line in _promises(sizing)]
    return "\n".join([*lines, "", _speeds(*fronts), *map(folded, notes)])


def deployed(fleet: Fleet) -> str:
    """Returns a fleet's replicas in words, for example `3 replicas of TP 4`."""
    several = "s" * (fleet.replicas > 1)
    return f"{fleet.replicas} replica{several} of {_layout(fleet.replica)}"


def _sentence(sizing: Sizing) -> str:
    best, without, saved, goal = sizing.best, sizing.best_without, sizing.saved, sizing.goal
    assert best is not None
    speculation = (
        f"with {best.replica.draft or 'the draft'} and K = {best.gamma}" if best.gamma
        else "without speculation"
    )  # fmt: skip
    money = "" if best.price is None else f", {best.price:.4g} an hour"
    start = (
        f"{best.gpus} {best.replica.gpu.upper()} in {deployed(best)} carry {goal.rate:g} "
        f"requests/s {speculation}{money}"
    )
    if best.gamma == 0:
        return f"{start}; no draft makes it cheaper."
    if without is None or saved is None:
        return f"{start}; without speculation {goal.max_gpus} GPUs do not keep the targets."
    other = "" if without.price is None else f", {without.price:.4g} an hour"
    kind = "" if without.replica.gpu == best.replica.gpu else f" {without.replica.gpu.upper()}"
    plain = f"without speculation {without.gpus}{kind} ({deployed(without)}{other})"
    if saved.gpus == 0:
        return f"{start}; {plain}: as many."
    gpus, than = abs(saved.gpus), "fewer" if saved.gpus > 0 else "more"
    fewer = f"{gpus} GPU{'s' * (gpus > 1)} {than}"
    return f"{start}; {plain}: {fewer}{_odds(saved.probability)}."


def _odds(probability: float | None) -> str:
    if probability is None:
        return ""
    words = "unlikely" if probability < _UNLIKELY else certainty(probability)
    return f", {words} ({percentage(probability)} %)"


def _fleets(rows: Iterable[dict[str, Any]]) -> str:
    every = list(rows)
    columns: list[Column[dict[str, Any]]] = [
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
        ("up to requests/s", "{most_requests_per_second:.3g}"),
        ("binds", "{binds}"),
    ]
    if any(fleet["price"] is not None for fleet in every):
        columns.append(("price an hour", "{price:.2f}"))
    return table(every, columns)


def _promises(sizing: Sizing) -> list[str]:
    best, saved, promised, goal = sizing.best, sizing.saved, sizing.promise, sizing.goal
    assert best is not None
    lines = []
    if promised is not None:
        first = " / ".join(f"{1e3 * seconds:.0f}" for seconds in promised.first_seconds)
        token = " / ".join(f"{1e3 * seconds:.1f}" for seconds in promised.token_seconds)
        lines.append(
            f"Simulated with all replicas: {100 * promised.share:.1f} % of requests keep "
            f"{_targets(sizing)} (TTFT {100 * promised.first_share:.1f} %, TPOT "
            f"{100 * promised.token_share:.1f} %). TTFT p50 / p95 / p99: {first} ms; TPOT: "
            f"{token} ms."
        )
    lines.append(
        f"{_LIMITS[sizing.binds or 'capacity']} binds. The next replica is due above "
        f"{sizing.next_rate:.3g} requests/s."
    )
    if sizing.gpus_at is not None:
        half, most = (_or_more(gpus, best.gpus) for gpus in sizing.gpus_at)
        lines.append(
            f"With the doubt of costs and acceptance, {half} GPUs suffice with a probability of "
            f"50 %, {most} with 90 %."
        )
    if saved is not None and saved.low is not None and saved.high is not None and best.gamma:
        low, high = (_or_more(gpus, best.gpus) for gpus in (saved.low, saved.high))
        lines.append(f"GPUs saved by speculation ({percent()}): {low} to {high}.")
    lines.append(
        f"{sizing.searched} combinations were searched. Requests go to the replicas in turn; "
        f"{goal.share:.0%} of them are promised the targets."
    )
    return lines


def _speeds(with_drafts: Sequence[Point], without: Sequence[Point]) -> str:
    """Returns the table of speeds: tokens/s of a GPU at each tokens/s of a user, at least."""
    users = [point.tokens_per_user for point in (*with_drafts, *without)]
    if not users:
        return ""
    low, high = min(users), max(users)
    levels = [low * (high / low) ** (place / _LEVELS) for place in range(_LEVELS)]
    rows = []
    for level in levels:
        points = [_at_least(front, level) for front in (with_drafts, without)]
        speeds = [None if point is None else point.tokens_per_gpu for point in points]
        gain = None if None in speeds else 100 * (speeds[0] / speeds[1] - 1)  # type: ignore[operator]
        rows.append({"level": level, "gain": gain, "with": points[0], "without": points[1]})
    columns: list[Column[dict[str, Any]]] = [
        ("tokens/s a user", "{level:.0f}"),
        ("tokens/s a GPU with speculation", lambda speeds: _speed(speeds["with"])),
        ("without", lambda speeds: _speed(speeds["without"])),
        ("more", "{gain:+.0f} %"),
    ]
    return table(rows, columns)


def _at_least(front: Sequence[Point], level: float) -> Point | None:
    fast = [point for point in front if point.tokens_per_user >= level]
    return max(fast, key=lambda point: point.tokens_per_gpu, default=None)


def _speed(point: Point | None) -> str:
    if point is None:
        return "-"
    drafts = f", K {point.gamma}" if point.gamma else ""
    return f"{point.tokens_per_gpu:.0f} ({point.replica.gpu}, {_layout(point.replica)}{drafts})"


def _layout(replica: Any) -> str:
    parts = [f"TP {replica.tp}"]
    parts += [f"EP {replica.ep}"] * (replica.ep > 1) + [f"DP {replica.dp}"] * (replica.dp > 1)
    return ", ".join(parts)


def _targets(sizing: Sizing) -> str:
    targets = sizing.goal.targets
    named = (("TTFT", targets.first_seconds), ("TPOT", targets.token_seconds))
    return " and ".join(f"{name} {1e3 * limit:g} ms" for name, limit in named if limit is not None)


def _or_more(gpus: float, known: int) -> str:
    return f"more than {4 * known}" if abs(gpus) == float("inf") else f"{gpus:.0f}"
