"""Replicas by hour of a trace, for `specplan size --trace`: JSON, sentence and table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.traffic.day import Day
from specplan.reports.table import Column

Json = Mapping[str, Any]
HOURS: Sequence[Column[Json]] = (
    ("from", "{from}"),
    ("requests/s", "{rate:.3g}"),
    ("prompt", "{prompt_tokens:.0f}"),
    ("output", "{output_tokens:.0f}"),
    ("replicas", "{replicas}"),
    ("GPUs", "{gpus}"),
    ("within targets", "{within_percent:.1f} %"),
    ("GPUs without", "{gpus_without}"),
)


def day_json(day: Day, without: Day | None) -> dict[str, Any]:
    """Returns the replicas by hour, with speculation if it is better, and without."""
    plain = [None] * len(day.hours) if without is None else without.replicas
    hours = []
    every = zip(day.hours, day.fleets, day.replicas, plain, strict=True)
    for hour, fleet, replicas, other in every:
        demand = None if fleet is None else fleet.replica.pair.demand
        share = None if fleet is None else fleet.share_within
        hours.append(
            {
                "from": hour.name,
                "rate": hour.rate,
                "prompt_tokens": None if demand is None else demand.prompt_tokens,
                "output_tokens": None if demand is None else demand.output_tokens,
                "replicas": replicas,
                "gpus": replicas * day.gpus,
                "share_within": share,
                "within_percent": None if share is None else 100 * share,
                "replicas_without": other,
                "gpus_without": None if other is None or without is None else other * without.gpus,
            }
        )
    return {
        "hours": hours,
        "speculation": day is not without,
        **_hours_spent(day),
        "without": None if without is None else _hours_spent(without),
    }


def _hours_spent(day: Day) -> dict[str, Any]:
    """Returns the GPU-hours of replicas by hour and of one fixed number, and what this wastes."""
    wasted = day.fixed_gpu_hours - day.gpu_hours
    money = (None, None) if day.price is None else (day.fixed_gpu_hours, wasted)
    cost, lost = (None if hours is None else hours * (day.price or 0.0) for hours in money)
    return {
        "fixed_replicas": day.fixed,
        "fixed_gpus": day.fixed * day.gpus,
        "fewest_replicas": min(day.replicas),
        "fixed_gpu_hours": day.fixed_gpu_hours,
        "gpu_hours": day.gpu_hours,
        "wasted_gpu_hours": wasted,
        "wasted_percent": 100 * day.wasted,
        "fixed_price": cost,
        "wasted_price": lost,
    }


def day_sentences(data: Json) -> list[str]:
    """Returns what one fixed number of replicas wastes; data: the result of `day_json`."""
    hours = len(data["hours"])
    if hours == 1:
        return ["The trace is a single hour: no hour has replicas to spare."]
    lines = [
        f"By hour {data['fewest_replicas']} to {data['fixed_replicas']} replicas are needed. "
        + _spent("One fixed number of replicas", data)
    ]
    if data["speculation"] and data["without"] is not None:
        lines.append(_spent("Without speculation one fixed number", data["without"]))
    return lines


def _spent(subject: str, data: Json) -> str:
    money = ""
    if data["wasted_price"] is not None:
        money = f", {data['wasted_price']:.4g} of {data['fixed_price']:.4g} in money"
    return (
        f"{subject} ({data['fixed_replicas']}, {data['fixed_gpus']} GPUs) runs "
        f"{data['fixed_gpu_hours']:.4g} GPU-hours, of which {data['wasted_gpu_hours']:.4g} are "
        f"not needed ({data['wasted_percent']:.0f} %{money})."
    )
