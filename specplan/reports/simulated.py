"""Simulations of `specplan traffic`, as JSON and as tables: arrivals by policy, and bursts by γ."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simulator.traffic.answer import TrafficRequest
from simulator.traffic.policy import Simulated, burst_simulations
from specplan.reports.rate_rows import POLICIES
from specplan.reports.table import Column, folded, possible, table
from specplan.reports.traffic_limits import server_lines

_PERCENTILES = (50, 90, 95, 99)


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


def add_speed_ups(
    rows: Sequence[dict[str, Any]], simulated: Sequence[Mapping[str, Any]], *, output_tokens: float
) -> None:
    """Writes into each row with drafts how many times as fast its requests are as without.

    Near the capacity the simulation says it, and rows get its times as `simulated`.

    rows: JSON of an answer, two for each rate, without and with speculation.
    """
    seen = {(point["rate"], point["policy"]): point for point in simulated}
    for plain, drafting in zip(rows[::2], rows[1::2], strict=True):
        pair = plain, drafting
        ways = [seen.get((plain["rate"], way)) for way in ("none", "fixed")]
        near = plain["near_capacity"] or drafting["near_capacity"]
        for state, served in zip(pair, ways, strict=True):
            state["simulated"] = None
            if near and served is not None:
                times = {name: served[name] for name in ("batch", "tpot_ms", "ttft_ms")}
                decoding = (output_tokens - 1) * (served["tpot_ms"] or 0.0)
                state["simulated"] = {**times, "request_ms": served["ttft_ms"] + decoding}
        both = plain["stable"] and drafting["stable"] and drafting["gamma"]
        slow, quick = (state["simulated"] if all(ways) and near else state for state in pair)
        drafting["speed_up"] = slow["request_ms"] / quick["request_ms"] if both else None


def burst_answer(request: TrafficRequest, notes: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Returns how fast each γ serves `request.burst`, as JSON and as a table above `notes`."""
    pair, burst = request.pair, request.burst
    assert burst is not None
    simulations = burst_simulations(pair, burst, drawn=request.drawn, seed=request.seed)
    rows = [
        {
            "policy": simulation.policy,
            "gamma": simulation.gamma,
            "seconds": simulation.result.seconds,
            "improvement_factor": simulations[0].result.seconds / simulation.result.seconds,
            "tokens_per_second": simulation.result.tokens_per_second,
            "preemptions": simulation.result.preemptions,
        }
        for simulation in simulations
    ]
    columns: list[Column[dict[str, Any]]] = [
        ("gamma", lambda cells: str(cells["gamma"] or POLICIES[cells["policy"]])),
        ("seconds to the last token", "{seconds:.4g}"),
        ("times faster", "{improvement_factor:.2f}"),
        ("tokens/s", "{tokens_per_second:.0f}"),
        ("preempted", "{preemptions}"),
    ]
    data = possible({"burst": len(simulations[0].result.last), "rows": rows})
    lines = server_lines(pair, {simulation.gamma for simulation in simulations if simulation.gamma})
    return data, "\n".join([table(rows, columns), *map(folded, [*lines, *notes])])
