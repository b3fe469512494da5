"""Simulated arrivals of `specplan traffic`: percentiles by policy, as JSON and as a table."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simulator.traffic.answer import TrafficRequest
from simulator.traffic.policy import Simulated
from specplan.reports.table import Column, shown, table

_PERCENTILES = (50, 90, 95, 99)
POLICIES = {
    "none": "none", "fixed": "fixed", "schedule": "by batch", "request": "by request",
    "adaptive": "adaptive",
}  # fmt: skip


def simulated_json(request: TrafficRequest, simulated: Simulated) -> dict[str, Any]:
    result, targets = simulated.result, request.targets
    data = {"rate": simulated.rate, "policy": simulated.policy, "batch": result.batch}
    for name, seconds in (("tpot_ms", result.token_seconds), ("ttft_ms", result.first_seconds)):
        names = [name, *(f"{name}_p{share}" for share in _PERCENTILES)]
        timed = seconds[~np.isnan(seconds)]
        data |= dict.fromkeys(names)
        if len(timed) > 0:
            times = [timed.mean(), *np.percentile(timed, _PERCENTILES)]
            data |= {key: 1e3 * float(value) for key, value in zip(names, times, strict=True)}
    return {
        **data,
        "tokens_per_second": request.replicas * result.tokens_per_second,
        "preemptions": result.preemptions,
        "goodput": None if targets is None else simulated.rate * result.within(targets),
    }


def simulated_table(request: TrafficRequest, simulations: Sequence[Simulated]) -> str:
    def milliseconds(name: str) -> Callable[[dict[str, Any]], str]:
        return lambda cells: shown(cells[name], ".4g" if (cells[name] or 0) < 1e4 else ".0f")

    columns: list[Column[dict[str, Any]]] = [
        ("simulated", "{rate:g}"),
        ("gamma", lambda cells: POLICIES[cells["policy"]]),
        ("ms/token p50", milliseconds("tpot_ms_p50")),
        ("p95", milliseconds("tpot_ms_p95")),
        ("p99", milliseconds("tpot_ms_p99")),
        ("TTFT ms p50", milliseconds("ttft_ms_p50")),
        ("p95", milliseconds("ttft_ms_p95")),
        ("p99", milliseconds("ttft_ms_p99")),
        ("preempted", "{preemptions}"),
    ]
    rows, targets = (
        [simulated_json(request, simulation) for simulation in simulations],
        request.targets,
    )
    if targets is not None:
        columns.append(("on target", "{within:.1f} %"))
        for row, simulated in zip(rows, simulations, strict=True):
            row |= {"within": 100 * simulated.result.within(targets)}
    return table(rows, columns)
