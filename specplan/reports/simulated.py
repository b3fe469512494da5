"""Simulations of `specplan traffic`, as JSON and as tables: arrivals by policy, and bursts by γ."""

from collections.abc import Sequence
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
