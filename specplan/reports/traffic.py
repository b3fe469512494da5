"""Tables and JSON of `specplan traffic`: steady states at each rate, and simulated arrivals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simulator.choice.advice import percentage
from simulator.numerics.intervals import CONFIDENCE, percent
from simulator.traffic.answer import Interval, Traffic, TrafficRequest, TrafficRow
from simulator.traffic.pair import Pair
from simulator.traffic.steady import CHUNKS_TRUSTED, PROMPTS_TRUSTED, TRUSTED, Steady
from specplan.reports.deployment import ranges_json
from specplan.reports.simulated import simulated_json, simulated_table
from specplan.reports.table import Column, bounds, folded, possible, table
from specplan.reports.traffic_limits import (
    crossing_text,
    overloaded,
    prompts_lines,
    server_lines,
    zero_json,
    zero_lines,
)

_NEAR = (
    "~ Above 80 % of the capacity these times may be too short: in simulations up to 12 % per "
    "token, and 40 % to the first token. --simulate shows them."
)
_LONG_CHUNKS = (
    "~ Above 30 % of the capacity these times may be too short, because a chunk of prompts takes "
    "over an eighth of the time in which a request is decoded: in simulations up to 37 % per "
    "token. --simulate shows them."
)
_LONG_PROMPTS = (
    "~ Above 50 % of the capacity these times may be too short, because a prompt takes over "
    "7.5 % of the time in which a request is decoded: in simulations up to 8 % per token. "
    "--simulate shows them."
)
# By the share of the capacity up to which times are trusted.
_SHORT = {TRUSTED: _NEAR, CHUNKS_TRUSTED: _LONG_CHUNKS, PROMPTS_TRUSTED: _LONG_PROMPTS}
_RISK = (
    "Capacity: requests/s at the row's K, as most probable. Risk of overload: how probable it is "
    "that the rate exceeds it, with costs and acceptance in doubt."
)


def traffic_json(request: TrafficRequest, answer: Traffic) -> dict[str, Any]:
    demand, most = request.pair.demand, "most_requests_per_second"
    data: dict[str, Any] = {
        "prompt_tokens": demand.prompt_tokens,
        "output_tokens": demand.output_tokens,
        "replicas": request.replicas,
        "rows": [_row_json(request.pair, row, answer.draws) for row in answer.rows],
        **_interval(most, answer.max_rate, answer.max_rate_interval),
        **_interval(f"{most}_without", answer.max_rate_without, answer.max_rate_without_interval),
        **_interval("break_even_rate", answer.break_even, answer.break_even_interval),
        "zero": zero_json(request),
        "draws": answer.draws,
        "confidence": CONFIDENCE,
        "most_sequences": request.pair.drafting.max_batch(demand),
        "schedule": ranges_json(answer.schedule, undecided=answer.undecided),
    }
    if answer.within_targets is not None:
        both = ("slo_requests_per_second", "slo_requests_per_second_without")
        data |= dict(zip(both, answer.within_targets, strict=True))
    if answer.at_share is not None:
        names = (f"{most}_at_share", f"{most}_at_share_without")
        data |= {**dict(zip(names, answer.at_share, strict=True)), "share": request.share}
    if request.arrivals is not None:
        data["simulated"] = [simulated_json(request, simulation) for simulation in answer.simulated]
    return possible(data, prompts_per_second=_prompts_per_second(request))


def _prompts_per_second(request: TrafficRequest) -> float:
    """Returns how many prompts the server can read in a second, at most."""
    pair = request.pair
    step = float(min(pair.drafting.seconds.min(), pair.baseline.seconds.min()))
    prompts = float(pair.baseline.prompts.max_rate(pair.demand.prompt_tokens, step))
    return request.replicas * prompts


def traffic_text(
    request: TrafficRequest, answer: Traffic, data: Mapping[str, Any], notes: Sequence[str] = ()
) -> str:
    """Returns a table of rates, capacities and advice; data: the result of `traffic_json`."""
    pair, legend = request.pair, list[str]()
    rows = [_cells(row, cells) for row, cells in zip(answer.rows, data["rows"], strict=True)]
    for slow, quick, cells in zip(answer.rows[::2], answer.rows[1::2], rows[1::2], strict=True):
        if slow.stable and quick.stable:
            times = [row.state.request_seconds(pair.demand) for row in (slow, quick)]
            cells["speed_up"] = float((times[0] / times[1])[0]) if quick.gamma else None
    if more := overloaded(data["rows"]):
        rows = [cells for cells in rows if cells["rate"] not in more]
        legend.append(f"More rates overload the server: {', '.join(f'{rate:g}' for rate in more)}.")
    columns: list[Column[dict[str, Any]]] = [
        ("requests/s", "{rate:g}"),
        ("gamma", "{with}"),
        ("batch", "{batch:.1f}"),
        ("ms/token", "{time}"),
        ("TTFT ms", "{ttft_ms:.0f}"),
        ("speed-up", "{speed_up:.2f}"),
        ("capacity", "{most_requests_per_second:.3g}"),
    ]
    if len(answer.schedule) > 1:
        columns.append(("K by batch", "{faster:+.1f} %"))
    if answer.draws:
        columns += [("gain", "{chance} %"), ("risk of overload", "{risk}")]
        legend.append(_RISK)
    chances = {row.rate: row.gain_probability for row in answer.rows if row.gamma}
    interval, without = (
        "" if ends is None else f" ({percent()}: {ends[0]:.3g} to {ends[1]:.3g})"
        for ends in (answer.max_rate_interval, answer.max_rate_without_interval)
    )
    lines = [
        f"Capacity: {answer.max_rate:.3g} requests/s{interval} with speculation, "
        f"{answer.max_rate_without:.3g}{without} without.",
        crossing_text(answer.break_even, answer.break_even_interval, chances, pair),
        *zero_lines(answer.break_even, data["zero"]),
        *prompts_lines(answer.max_rate_without, _prompts_per_second(request)),
    ]
    if answer.within_targets is not None:
        rate, plain = (f"{rate:.3g}" for rate in answer.within_targets)
        lines.append(
            f"Mean times meet your targets up to {rate} requests/s with speculation, {plain} "
            "without (p99: --simulate)."
        )
    if answer.at_share is not None:
        rate, plain = (f"{rate:.3g}" for rate in answer.at_share)
        lines.append(
            f"{100 * request.share:.0f} % of the requests meet them up to {rate} requests/s with "
            f"speculation, {plain} without."
        )
    if request.replicas > 1:
        lines.insert(0, f"Rates and capacities are of {request.replicas} replicas together.")
    ranges = [f"{part.gamma} up to batch {part.last_batch}" for part in answer.schedule]
    what = "Undecided: gamma to measure first," if answer.undecided else "Advised gamma"
    apart = "A row's gamma is one for all batches of its rate, prompts included, so it may differ."
    lines.append(f"{what} by batch: {', '.join(ranges)}. {apart}")
    if len(answer.schedule) > 1:
        lines.append("K by batch: how much faster requests are if K changes so with the batch.")
    lines += [*legend, *fine_print(request, answer)]
    simulated = ["", simulated_table(request, answer.simulated)] if answer.simulated else []
    rates = table(rows, columns, note=lambda cells: cells["note"])
    return "\n".join([rates, "", *map(folded, lines), *simulated, *map(folded, notes)])


def fine_print(request: TrafficRequest, answer: Traffic) -> list[str]:
    """Returns sentences on times that may be too short, and on captured graphs."""
    near = [row for row in answer.rows if row.near_capacity and not answer.simulated]
    short = [_SHORT[min(row.trusted for row in near)]] if near else []
    gammas = {row.gamma for row in answer.rows} - {0}
    return [*short, *server_lines(request.pair, gammas)]


def _row_json(pair: Pair, row: TrafficRow, draws: int) -> dict[str, Any]:
    token, first = (
        float(seconds[0]) for seconds in (row.state.token_seconds, row.state.first_seconds)
    )
    output_tokens, most = pair.demand.output_tokens, pair.server(row.gamma).max_batch(pair.demand)
    several, batch = output_tokens > 1, row.state.batch[0] if row.stable else most
    data: dict[str, Any] = {
        "rate": row.rate,
        "speculation": row.gamma > 0,
        "gamma": row.gamma,
        "batch": float(row.state.batch[0]),
        **_interval("tpot_ms", token if several else None, row.token_seconds, 1e3),
        "overload_risk": row.overload_risk,
        "unborne_draws": 0 if row.overload_risk is None else round(row.overload_risk * draws),
        "ttft_ms": 1e3 * first,
        "request_ms": 1e3 * (first + (output_tokens - 1) * token if several else first),
        "tokens_per_second": row.tokens_per_second,
        "stable": row.stable,
        "replicas_needed": row.replicas_needed,
        "most_requests_per_second": row.most_requests,
        "near_capacity": row.near_capacity,
        "most_sequences": most,
        "beyond_graphs": pair.wall is not None and bool(pair.wall.beyond(batch, row.gamma)),
        "on_target": row.on_target,
    }
    if row.advice is not None:
        data["advised_gamma"] = row.advice.gamma
        data["gain_probability"] = row.gain_probability
    if row.by_batch is not None:
        data["by_batch"] = _by_batch_json(pair, row, row.by_batch)
    return data


def _by_batch_json(pair: Pair, row: TrafficRow, state: Steady) -> dict[str, float | None]:
    """Returns the times with K by batch, and by how many per cent requests are faster with it."""
    seconds, fixed = (
        float(loaded.request_seconds(pair.demand)[0]) for loaded in (state, row.state)
    )
    both = row.stable and bool(state.stable[0])
    # K by batch is one K once all slots are taken: its capacity is at most the best one.
    most = min(float(state.max_rate), max(float(pair.max_rate), float(pair.max_rate_without)))
    return {
        "tpot_ms": 1e3 * float(state.token_seconds[0]) if pair.demand.output_tokens > 1 else None,
        "ttft_ms": 1e3 * float(state.first_seconds[0]),
        "request_ms": 1e3 * seconds,
        "most_requests_per_second": row.replicas * most,
        "faster_percent": 100 * (fixed / seconds - 1) if both else None,
    }


def _interval(
    name: str, value: float | None, ends: Interval | None, scale: float = 1.0
) -> dict[str, float | None]:
    """Returns the JSON fields of a number and its interval, multiplied by `scale`."""
    low, high = ends or (None, None)
    fields = {name: value, f"{name}_low": low, f"{name}_high": high}
    return {key: None if value is None else scale * value for key, value in fields.items()}


def _cells(row: TrafficRow, data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of one table row: the numbers in its JSON, or words if overloaded."""
    cells, advice, risk = {**data}, row.advice, row.overload_risk
    if not row.stable:
        cells |= {"batch": None, "ttft_ms": None}
        time, risk = f"overloaded (max {row.most_requests:.3g}/s)", None
    elif np.isnan(row.state.token_seconds[0]):
        time = None
    else:
        time = f"{1e3 * row.state.token_seconds[0]:.2f}"
        if row.token_seconds is not None:
            low, high = (1e3 * seconds for seconds in row.token_seconds)
            time += f" {bounds(low, high, '.1f').replace('inf', 'overloaded')}"
    notes = ["!"] * cells["beyond_graphs"] + ["~"] * row.near_capacity
    notes += ["misses the targets"] if row.on_target is False and row.stable else []
    if not row.stable:
        notes.append(f"{row.replicas_needed} replicas carry it")
    elif advice is not None and advice.gamma == 0:
        notes.append("undecided: run it first" if advice.undecided else "not advised")
    chance = row.gain_probability
    by_batch = data.get("by_batch") or {}
    return cells | {
        "faster": by_batch.get("faster_percent"),
        "with": row.gamma or "none",
        "time": time,
        "speed_up": None,
        "chance": None if chance is None else percentage(chance),
        "risk": risk if risk is None else "< 1 %" if risk < 0.01 else f"{100 * risk:.0f} %",
        "note": ", ".join(notes),
    }
