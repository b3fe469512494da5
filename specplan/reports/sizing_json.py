"""JSON of `specplan size`: deployments, what the best one promises, and other speeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simulator.numerics.intervals import CONFIDENCE
from simulator.traffic.fleet import Fleet, Replica
from simulator.traffic.pareto import Point
from simulator.traffic.promise import PERCENTILES, Promise, binding
from simulator.traffic.saved import Saved
from simulator.traffic.sizing import Sizing
from specplan.reports.size_grid import times_by_rate
from specplan.reports.sizing_words import layout, next_command, promises, sentence
from specplan.reports.table import possible


def sizing_json(
    sizing: Sizing,
    fronts: Sequence[Sequence[Point]],
    *,
    flags: Mapping[str, str],
    notes: Sequence[str],
    command: str = "",
) -> dict[str, Any]:
    """Returns the answer as a JSON object.

    fronts: with and without speculation; flags: a replica's flags by server.
    command: the command of `traffic` for the best deployment; "": not known.
    """
    goal, targets, saved = sizing.goal, sizing.goal.targets, sizing.saved
    drawn = None if sizing.best is None else sizing.best.drawn_gpus
    half, most = (None, None) if drawn is None else np.quantile(drawn, (0.5, 0.9), method="higher")
    low, sure, high = sizing.next_rates or (None, sizing.next_rate, None)
    return possible(
        {
            "sentence": sentence(sizing),
            "promises": promises(sizing, command=command),
            "next_command": next_command(sizing.best, command),
            "basis": "" if sizing.best is None else sizing.best.replica.basis[0],
            "rate": goal.rate,
            **_lengths(sizing.best),
            "share": goal.share,
            "ttft_target_ms": _ms(targets.first_seconds),
            "tpot_target_ms": _ms(targets.token_seconds),
            "best": _fleet_json(sizing.best),
            "best_without": _fleet_json(sizing.best_without),
            "candidates": [_fleet_json(fleet) for fleet in sizing.candidates],
            "saved_gpus": _saved_json(saved),
            "drafts": [
                {**(_fleet_json(fleet) or {}), "saved_gpus": _saved_json(of_draft)}
                for fleet, of_draft in sizing.by_draft
            ],
            "confidence": CONFIDENCE,
            "probability": sizing.sufficient,
            "gpus_50": _finite(half),
            "gpus_90": _finite(most),
            "next_replica_rate": sizing.next_rate,
            "next_replica_rate_sure": sure,
            "next_replica_rate_low": low,
            "next_replica_rate_high": high,
            "simulated": None if sizing.promise is None else _promise_json(sizing.promise),
            "pareto": [
                {**_point_json(point), "speculation": speculation}
                for front, speculation in zip(fronts, (True, False), strict=True)
                for point in front
            ],
            "by_rate": [] if sizing.best is None else times_by_rate(sizing.best),
            "searched": sizing.searched,
            "flags": dict(flags),
            "notes": [*_cost_notes(sizing), *notes],
        }
    )  # fmt: skip


def _cost_notes(sizing: Sizing) -> list[str]:
    """Returns notes on the costs of the fleets that are shown, with GPU and layout if they vary."""
    fleets = [*sizing.candidates, *filter(None, [sizing.best_without])]
    replicas = {f"{one.gpu}, {layout(one.tp, one.ep, one.dp)}": one.basis[1:]
                for one in (fleet.replica for fleet in fleets)}  # fmt: skip
    notes = dict.fromkeys(note for basis in replicas.values() for note in basis)
    where = {note: [name for name, basis in replicas.items() if note in basis] for note in notes}
    return [
        f"{'; '.join(names)}: " * (len(names) < len(replicas)) + note
        for note, names in where.items()
    ]


def _fleet_json(fleet: Fleet | None) -> dict[str, Any] | None:
    if fleet is None:
        return None
    replica = fleet.replica
    return {
        **_machine(replica),
        "gpus": fleet.gpus,
        "replicas": fleet.replicas,
        "draft": fleet.draft,
        "gamma": fleet.gamma,
        "batch_limit": replica.pair.server(fleet.gamma).slots,
        "binds": binding(fleet),
        "share_within": fleet.share_within,
        "most_requests_per_second": fleet.limit,
        "price": fleet.price,
        "probability": fleet.probability,
    }


def _machine(replica: Replica) -> dict[str, Any]:
    return {name: getattr(replica, name) for name in ("gpu", "tp", "ep", "dp", "dtype")}


def _saved_json(saved: Saved | None) -> dict[str, Any] | None:
    return None if saved is None else {
        "value": saved.gpus,
        "low": _finite(saved.low),
        "high": _finite(saved.high),
        "probability": saved.probability,
    }  # fmt: skip


def _lengths(best: Fleet | None) -> dict[str, float | None]:
    demand = None if best is None else best.replica.pair.demand
    return {
        "prompt_tokens": None if demand is None else demand.prompt_tokens,
        "output_tokens": None if demand is None else demand.output_tokens,
    }


def _point_json(point: Point) -> dict[str, Any]:
    replica = point.replica
    return {
        **_machine(replica),
        "draft": replica.draft if point.gamma else None,
        "gamma": point.gamma,
        "rate": point.rate,
        "tokens_per_second_per_gpu": point.tokens_per_gpu,
        "tokens_per_second_per_user": point.tokens_per_user,
    }


def _promise_json(promise: Promise) -> dict[str, Any]:
    shares = {"share_within": promise.share, "ttft_share_within": promise.first_share}
    times = {
        f"{name}_ms_p{percentile}": 1e3 * seconds
        for name, every in (("ttft", promise.first_seconds), ("tpot", promise.token_seconds))
        for percentile, seconds in zip(PERCENTILES, every, strict=False)
    }
    return {
        **shares,
        "tpot_share_within": promise.token_share,
        **times,
        "requests": promise.requests,
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds


def _finite(gpus: float | None) -> float | None:
    return None if gpus is None or abs(gpus) == float("inf") else gpus
