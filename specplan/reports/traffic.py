"""What becomes of a server at each rate, as a reader sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from specplan.reports.possible import possible
from specplan.reports.table import Column, bounds, table

if TYPE_CHECKING:
    from simulator.traffic.answer import Interval, Row, Simulated, Traffic, TrafficRequest

_PERCENTILES = (50, 90, 99)
_POLICIES = {
    "none": "none", "fixed": "fixed", "schedule": "by batch", "request": "by request",
}  # fmt: skip


def traffic_json(request: TrafficRequest, found: Traffic) -> dict[str, Any]:
    """Returns the JSON object of `specplan traffic`."""
    demand = request.pair.demand
    data: dict[str, Any] = {
        "prompt_tokens": demand.prompt_tokens,
        "output_tokens": demand.output_tokens,
        "rows": [_row_json(row, demand.output_tokens) for row in found.rows],
        "most_requests_per_second": found.max_rate,
        **_ends("most_requests_per_second", found.max_rate_interval),
        "most_requests_per_second_without": found.max_rate_without,
        **_ends("most_requests_per_second_without", found.max_rate_without_interval),
        "break_even_rate": found.break_even,
        **_ends("break_even_rate", found.break_even_interval),
        "draws": found.draws,
        "most_sequences": request.pair.drafting.max_batch(demand),
        "schedule": found.schedule,
    }
    if found.kept is not None:
        data["slo_requests_per_second"], data["slo_requests_per_second_without"] = found.kept
    if request.arrivals is not None:
        data["simulated"] = [_simulated_json(request, each) for each in found.simulated]
    return possible(data)


def traffic_text(request: TrafficRequest, found: Traffic, notes: Sequence[str] = ()) -> str:
    """Returns the answer as text: a table of rates, and what follows from it."""
    lines = [table(found.rows, _COLUMNS), "", *_unborne(found), *_limits(found), _crossing(found)]
    if found.kept is not None:
        kept, without = (f"{rate:.3g}" for rate in found.kept)
        lines.append(f"On average the promise is kept up to {kept} requests/s, {without} without.")
    ranges = [f"{each.gamma} up to batch {each.last_batch}" for each in found.schedule]
    lines.append(f"Best gamma by batch: {', '.join(ranges)}.")
    if found.simulated:
        lines += ["", table(found.simulated, _simulated_columns(request))]
    return "\n".join([*lines, *notes])


def _row_json(row: Row, output_tokens: float) -> dict[str, Any]:
    token, first = 1e3 * float(row.state.token_seconds[0]), 1e3 * float(row.state.first_seconds[0])
    low, high = row.token_seconds or (None, None)
    return {
        "rate": row.rate,
        "speculation": row.gamma > 0,
        "gamma": row.gamma,
        "batch": float(row.state.batch[0]),
        "tpot_ms": token,
        "tpot_ms_low": None if low is None else 1e3 * low,
        "tpot_ms_high": None if high is None else 1e3 * high,
        "unborne_draws": row.unborne,
        "ttft_ms": first,
        "request_ms": first + (output_tokens - 1) * token,
        "tokens_per_second": row.tokens_per_second,
        "stable": row.stable,
    }


def _simulated_json(request: TrafficRequest, each: Simulated) -> dict[str, Any]:
    served = each.served
    promise = request.promise
    return {
        "rate": each.rate,
        "policy": each.policy,
        "batch": served.batch,
        "tpot_ms": _mean_ms(served.token_seconds),
        **_percentiles("tpot_ms", served.token_seconds),
        "ttft_ms": _mean_ms(served.first_seconds),
        **_percentiles("ttft_ms", served.first_seconds),
        "tokens_per_second": served.tokens_per_second,
        "preemptions": served.preemptions,
        "goodput": None if promise is None else each.rate * served.kept(promise),
    }


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _mean_ms(seconds: Any) -> float:
    return 1e3 * float(np.nanmean(seconds))


def _percentiles(name: str, seconds: Any) -> dict[str, float]:
    found = (1e3 * np.nanpercentile(seconds, _PERCENTILES)).tolist()
    return {f"{name}_p{share}": each for share, each in zip(_PERCENTILES, found, strict=True)}


def _borne(value: Callable[[Row], str]) -> Callable[[Row], str]:
    return lambda row: value(row) if row.stable else "-"


def _token_ms(row: Row) -> str:
    if not row.stable:
        return f"too many (bears {row.state.max_rate:.3g})"
    ends = None if row.token_seconds is None else [1e3 * each for each in row.token_seconds]
    interval = "" if ends is None else f" {_bounds(ends[0], ends[1], '.1f', 'too many')}"
    return f"{1e3 * row.state.token_seconds[0]:.2f}{interval}"


_COLUMNS: list[Column[Row]] = [
    Column("requests/s", lambda row: f"{row.rate:g}"),
    Column("gamma", lambda row: str(row.gamma) if row.gamma > 0 else "none"),
    Column("batch", _borne(lambda row: f"{row.state.batch[0]:.1f}")),
    Column("ms/token", _token_ms),
    Column("TTFT ms", _borne(lambda row: f"{1e3 * row.state.first_seconds[0]:.0f}")),
    Column("tokens/s", _borne(lambda row: f"{row.tokens_per_second:.0f}")),
]


def _simulated_columns(request: TrafficRequest) -> list[Column[Simulated]]:
    def percentile(times: str, share: int) -> Callable[[Simulated], str]:
        def cell(each: Simulated) -> str:
            return f"{1e3 * np.nanpercentile(getattr(each.served, times), share):.4g}"

        return cell

    columns: list[Column[Simulated]] = [
        Column("simulated", lambda each: f"{each.rate:g}"),
        Column("gamma", lambda each: _POLICIES[each.policy]),
        Column("ms/token p50", percentile("token_seconds", 50)),
        Column("p99", percentile("token_seconds", 99)),
        Column("TTFT ms p50", percentile("first_seconds", 50)),
        Column("p99", percentile("first_seconds", 99)),
        Column("put back", lambda each: str(each.served.preemptions)),
    ]
    promise = request.promise
    if promise is not None:
        columns.append(Column("kept", lambda each: f"{100 * each.served.kept(promise):.1f} %"))
    return columns


def _limits(found: Traffic) -> list[str]:
    interval, without = (
        "" if each is None else f" {bounds(*each, '.3g')}"
        for each in (found.max_rate_interval, found.max_rate_without_interval)
    )
    return [
        f"The server bears {found.max_rate:.4g}{interval} requests/s with speculation, "
        f"{found.max_rate_without:.4g}{without} without."
    ]


def _unborne(found: Traffic) -> list[str]:
    """Returns at which rates the interval's end is a server that does not bear them."""
    return [
        f"{'With' if row.gamma > 0 else 'Without'} speculation the server does not bear "
        f"{row.rate:g} requests/s in {row.unborne} of the {found.draws} draws behind the intervals."
        for row in found.rows
        if row.stable and row.unborne > 0
    ]


def _crossing(found: Traffic) -> str:
    crossing, (low, high) = found.break_even, found.break_even_interval or (np.inf, 0.0)
    if crossing is None or crossing == 0:
        short, edge = crossing is None, low if crossing is None else high
        said = f"Speculation {'shortens' if short else 'lengthens'} requests at every rate"
        if edge == (np.inf if short else 0):
            return f"{said}." if short else f"{said}: do not speculate."
        rates = f"{'above' if short else 'up to'} {edge:.3g} requests/s"
        other = "lengthen" if short else "shorten"
        where = "at any" if edge in (0, np.inf) else rates
        return f"{said} by the most probable costs, but may {other} them {where}."
    ends = "" if found.break_even_interval is None else f" {_bounds(low, high, '.3g', 'never')}"
    return f"Above {crossing:.3g}{ends} requests/s speculation lengthens requests."


def _bounds(low: float, high: float, form: str, infinite: str) -> str:
    """Returns an interval, a word in place of an end that is infinite."""
    return bounds(low, high, form).replace("inf", infinite)
