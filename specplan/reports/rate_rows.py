"""Columns of tables of `specplan traffic`, as text and on pages: rates, and simulated arrivals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulator.choice.odds import percentage
from specplan.reports.table import Column, bounds, shown

Json = Mapping[str, Any]
POLICIES = {
    "none": "none", "fixed": "fixed", "schedule": "by batch", "request": "by request",
    "adaptive": "adaptive",
}  # fmt: skip
BY_BATCH = "K by batch"  # a column for text only: pages have no room for it
_LONG = 1e4  # milliseconds that are shown without decimals


def rate_columns(data: Json) -> list[Column[Json]]:
    """Returns the columns of the rows of an answer; data: its JSON object."""
    columns: list[Column[Json]] = [
        ("requests/s", "{rate:g}"),
        ("gamma", lambda point: str(point["gamma"] or "none")),
        ("batch", lambda point: _if_stable(point, "batch", ".1f")),
        ("ms/token", _per_token),
        ("TTFT ms", lambda point: _if_stable(point, "ttft_ms", ".0f")),
        ("speed-up", "{speed_up:.2f}"),
        ("capacity", "{most_requests_per_second:.3g}"),
    ]
    if len(data["schedule"]) > 1:
        columns.append((BY_BATCH, _by_batch))
    if data["draws"]:
        columns += [("gain", _chance), ("risk of overload", _risk)]
    return columns


def row_note(point: Json) -> str:
    """Returns the marks of a row: its times are not known well, or it is not advised."""
    notes = ["!"] * point["beyond_graphs"] + ["~"] * point["near_capacity"]
    if not point["stable"]:
        return ", ".join([*notes, f"{point['replicas_needed']} replicas carry it"])
    notes += ["misses the targets"] * (point["on_target"] is False)
    if point.get("advised_gamma") == 0:
        notes.append("undecided: run it first" if point["undecided"] else "do not speculate")
    return ", ".join(notes)


def row_remark(point: Json) -> str:
    """Returns the marks of a row written out, for pages."""
    near = "simulated" if point.get("simulated") else "times are inexact"
    marks = {"!": "beyond captured graphs", "~": f"{near} near the capacity"}
    return ", ".join(marks.get(note, note) for note in row_note(point).split(", "))


def simulated_columns(simulated: Sequence[Json]) -> list[Column[Json]]:
    """Returns the columns of simulations; simulated: their JSON."""
    columns: list[Column[Json]] = [("simulated", "{rate:g}")]
    columns.append(("gamma", lambda point: POLICIES[point["policy"]]))
    for name, title in (("tpot_ms", "ms/token "), ("ttft_ms", "TTFT ms ")):
        parts = {f"{title}p50": "p50", "p95": "p95", "p99": "p99"}
        columns += [(head, _milliseconds(f"{name}_{part}")) for head, part in parts.items()]
    columns.append(("preempted", "{preemptions}"))
    if any(point["goodput"] is not None for point in simulated):
        columns.append(
            ("on target", lambda point: f"{100 * point['goodput'] / point['rate']:.1f} %")
        )
    return columns


def _milliseconds(name: str) -> Callable[[Json], str]:
    return lambda point: shown(point[name], ".4g" if (point[name] or 0) < _LONG else ".0f")


def _if_stable(point: Json, name: str, form: str) -> str:
    return shown((point.get("simulated") or point)[name] if point["stable"] else None, form)


def _per_token(point: Json) -> str:
    """Returns the time per token with its interval, whose high end may be an overload."""
    if not point["stable"]:
        return f"overloaded (max {point['most_requests_per_second']:.3g}/s)"
    if served := point.get("simulated"):
        return shown(served["tpot_ms"])
    low, high = point["tpot_ms_low"], point["tpot_ms_high"]
    if point["tpot_ms"] is None or low is None:
        return shown(point["tpot_ms"])
    ends = bounds(low, float("inf") if high is None else high, ".1f").replace("inf", "overloaded")
    return f"{point['tpot_ms']:.2f} {ends}"


def _by_batch(point: Json) -> str:
    return shown((point.get("by_batch") or {}).get("faster_percent"), "+.1f", " %")


def _chance(point: Json) -> str:
    return percentage(point.get("gain_probability"))


def _risk(point: Json) -> str:
    return percentage(point["overload_risk"] if point["stable"] else None)
