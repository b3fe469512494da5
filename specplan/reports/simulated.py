"""Simulations of `specplan traffic` as tables and JSON: arrivals at a rate, and bursts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simulator.traffic.answer import TrafficRequest
from simulator.traffic.pair import Pair
from simulator.traffic.policy import Simulated
from specplan.reports.table import Column, folded, possible, shown, table

_PERCENTILES = (50, 90, 99)
_POLICIES = {
    "none": "none", "fixed": "fixed", "schedule": "by batch", "request": "by request",
    "adaptive": "adaptive",
}  # fmt: skip


def burst_json(found: Sequence[Simulated]) -> dict[str, Any]:
    rows = [
        {
            "policy": each.policy,
            "gamma": each.gamma,
            "seconds": each.result.seconds,
            "improvement_factor": found[0].result.seconds / each.result.seconds,
            "tokens_per_second": each.result.tokens_per_second,
            "preemptions": each.result.preemptions,
        }
        for each in found
    ]
    return possible({"burst": len(found[0].result.last), "rows": rows})


def burst_text(pair: Pair, data: Mapping[str, Any], notes: Sequence[str] = ()) -> str:
    """Returns a table of how fast each γ serves a burst of requests; data: from `burst_json`."""
    columns: list[Column[dict[str, Any]]] = [
        ("gamma", lambda each: str(each["gamma"] or _POLICIES[each["policy"]])),
        ("seconds to the last token", "{seconds:.4g}"),
        ("times faster", "{improvement_factor:.2f}"),
        ("tokens/s", "{tokens_per_second:.0f}"),
        ("preempted", "{preemptions}"),
    ]
    lines = graphs_lines(pair, {each["gamma"] for each in data["rows"]} - {0, None})
    return "\n".join([table(data["rows"], columns), *map(folded, [*lines, *notes])])


def simulated_json(request: TrafficRequest, each: Simulated) -> dict[str, Any]:
    result, targets = each.result, request.targets
    return {
        "rate": each.rate,
        "policy": each.policy,
        "batch": result.batch,
        **_percentiles("tpot_ms", result.token_seconds),
        **_percentiles("ttft_ms", result.first_seconds),
        "tokens_per_second": result.tokens_per_second,
        "preemptions": result.preemptions,
        "goodput": None if targets is None else each.rate * result.within(targets),
    }


def _percentiles(name: str, seconds: Any) -> dict[str, float | None]:
    """Returns the mean and percentiles of times in milliseconds; None if all times are NaN."""
    names = [name, *(f"{name}_p{share}" for share in _PERCENTILES)]
    timed = seconds[~np.isnan(seconds)]
    if len(timed) == 0:
        return dict.fromkeys(names)
    found = [timed.mean(), *np.percentile(timed, _PERCENTILES)]
    return {each: 1e3 * float(value) for each, value in zip(names, found, strict=True)}


def simulated_table(request: TrafficRequest, found: Sequence[Simulated]) -> str:
    def milliseconds(name: str) -> Callable[[dict[str, Any]], str]:
        return lambda each: shown(each[name], ".4g" if (each[name] or 0) < 1e4 else ".0f")

    columns: list[Column[dict[str, Any]]] = [
        ("simulated", "{rate:g}"),
        ("gamma", lambda each: _POLICIES[each["policy"]]),
        ("ms/token p50", milliseconds("tpot_ms_p50")),
        ("p99", milliseconds("tpot_ms_p99")),
        ("TTFT ms p50", milliseconds("ttft_ms_p50")),
        ("p99", milliseconds("ttft_ms_p99")),
        ("preempted", "{preemptions}"),
    ]
    rows, targets = [simulated_json(request, each) for each in found], request.targets
    if targets is not None:
        columns.append(("on target", "{within:.1f} %"))
        for row, each in zip(rows, found, strict=True):
            row |= {"within": 100 * each.result.within(targets)}
    return table(rows, columns)


def graphs_lines(pair: Pair, gammas: set[int]) -> list[str]:
    """Returns a warning if captured graphs limit the requests decoded together; else no line."""
    wall, most = pair.wall, pair.baseline.max_batch(pair.demand)
    if wall is None:
        return []
    moves = f"{wall.flag} moves the limit."
    if pair.eager:
        size = wall.size(most, 0)
        return [f"! Up to {size} {wall.unit} a step without speculation, and graphs are captured "
                f"up to {wall.most}: times beyond are not known well. {moves}"]  # fmt: skip
    few = {gamma: pair.server(gamma).slots for gamma in sorted(gammas)}
    limits = [f"{slots} at gamma {gamma}" for gamma, slots in few.items() if slots < most]
    if not limits:
        return []
    return [f"Requests decoded together: at most {', '.join(limits)}. Larger steps exceed the "
            f"captured graphs of {wall.most} {wall.unit}, and their time is not known. Limit the "
            f"server to as many requests. {moves}"]  # fmt: skip
