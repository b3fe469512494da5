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


def simulated_json(request: TrafficRequest, each: Simulated) -> dict[str, Any]:
    result, targets = each.result, request.targets
    data = {"rate": each.rate, "policy": each.policy, "batch": result.batch}
    for name, seconds in (("tpot_ms", result.token_seconds), ("ttft_ms", result.first_seconds)):
        names = [name, *(f"{name}_p{share}" for share in _PERCENTILES)]
        timed = seconds[~np.isnan(seconds)]
        data |= dict.fromkeys(names)
        if len(timed) > 0:
            found = [timed.mean(), *np.percentile(timed, _PERCENTILES)]
            data |= {key: 1e3 * float(value) for key, value in zip(names, found, strict=True)}
    return {
        **data,
        "tokens_per_second": request.replicas * result.tokens_per_second,
        "preemptions": result.preemptions,
        "goodput": None if targets is None else each.rate * result.within(targets),
    }


def simulated_table(request: TrafficRequest, found: Sequence[Simulated]) -> str:
    def milliseconds(name: str) -> Callable[[dict[str, Any]], str]:
        return lambda each: shown(each[name], ".4g" if (each[name] or 0) < 1e4 else ".0f")

    columns: list[Column[dict[str, Any]]] = [
        ("simulated", "{rate:g}"),
        ("gamma", lambda each: POLICIES[each["policy"]]),
        ("ms/token p50", milliseconds("tpot_ms_p50")),
        ("p95", milliseconds("tpot_ms_p95")),
        ("p99", milliseconds("tpot_ms_p99")),
        ("TTFT ms p50", milliseconds("ttft_ms_p50")),
        ("p95", milliseconds("ttft_ms_p95")),
        ("p99", milliseconds("ttft_ms_p99")),
        ("preempted", "{preemptions}"),
    ]
    rows, targets = [simulated_json(request, each) for each in found], request.targets
    if targets is not None:
        columns.append(("on target", "{within:.1f} %"))
        for row, each in zip(rows, found, strict=True):
            row |= {"within": 100 * each.result.within(targets)}
    return table(rows, columns)
