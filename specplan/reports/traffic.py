"""Tables and JSON of `specplan traffic`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.numerics.intervals import CONFIDENCE, percent
from specplan.reports.possible import possible
from specplan.reports.table import Column, bounds, table

if TYPE_CHECKING:
    from simulator.traffic.answer import Interval, Simulated, Traffic, TrafficRequest, TrafficRow

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
        "rows": [_row_json(row, found.draws, demand.output_tokens) for row in found.rows],
        "most_requests_per_second": found.max_rate,
        **_ends("most_requests_per_second", found.max_rate_interval),
        "most_requests_per_second_without": found.max_rate_without,
        **_ends("most_requests_per_second_without", found.max_rate_without_interval),
        "break_even_rate": found.break_even,
        **_ends("break_even_rate", found.break_even_interval),
        "draws": found.draws,
        "confidence": CONFIDENCE,
        "most_sequences": request.pair.drafting.max_batch(demand),
        "schedule": found.schedule,
    }
    if found.within_targets is not None:
        both = ("slo_requests_per_second", "slo_requests_per_second_without")
        data |= dict(zip(both, found.within_targets, strict=True))
    if request.arrivals is not None:
        data["simulated"] = [_simulated_json(request, each) for each in found.simulated]
    step = float(request.pair.drafting.seconds.min())
    prompts = float(request.pair.baseline.prompts.max_rate(demand.prompt_tokens, step))
    return possible(data, prompts_per_second=prompts)


def traffic_text(request: TrafficRequest, found: Traffic, notes: Sequence[str] = ()) -> str:
    """Returns the answer as text: a table of rates, capacities and advice."""
    columns = _COLUMNS if found.draws == 0 else [*_COLUMNS, _RISK]
    lines = [table(found.rows, columns, note=_note), "", *_capacity(found), _crossing(found)]
    if found.within_targets is not None:
        rate, without = (f"{each:.3g}" for each in found.within_targets)
        lines.append(
            f"Mean times meet your targets up to {rate} requests/s with speculation, {without} "
            "without (p99: --simulate)."
        )
    ranges = [f"{each.gamma} up to batch {each.last_batch}" for each in found.schedule]
    lines.append(f"Advised gamma by batch: {', '.join(ranges)}.")
    if found.simulated:
        lines += ["", table(found.simulated, _simulated_columns(request))]
    return "\n".join([*lines, *notes])


def burst_json(found: Sequence[Simulated]) -> dict[str, Any]:
    """Returns the JSON object of `specplan traffic --burst`."""
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


def burst_text(found: Sequence[Simulated], notes: Sequence[str] = ()) -> str:
    """Returns the answer to a burst as text."""
    none = found[0].result.seconds
    columns: list[Column[Simulated]] = [
        Column("gamma", lambda each: str(each.gamma or _POLICIES[each.policy])),
        Column("seconds to the last token", lambda each: f"{each.result.seconds:.4g}"),
        Column("times faster", lambda each: f"{none / each.result.seconds:.2f}"),
        Column("tokens/s", lambda each: f"{each.result.tokens_per_second:.0f}"),
        Column("preempted", lambda each: str(each.result.preemptions)),
    ]
    return "\n".join([table(found, columns), *notes])


def _row_json(row: TrafficRow, draws: int, output_tokens: float) -> dict[str, Any]:
    token, first = (float(each[0]) for each in (row.state.token_seconds, row.state.first_seconds))
    several = output_tokens > 1
    low, high = row.token_seconds or (None, None)
    data = {
        "rate": row.rate,
        "speculation": row.gamma > 0,
        "gamma": row.gamma,
        "batch": float(row.state.batch[0]),
        "tpot_ms": 1e3 * token if several else None,
        "tpot_ms_low": None if low is None else 1e3 * low,
        "tpot_ms_high": None if high is None else 1e3 * high,
        "overload_risk": row.overload_risk,
        "unborne_draws": 0 if row.overload_risk is None else round(row.overload_risk * draws),
        "ttft_ms": 1e3 * first,
        "request_ms": 1e3 * (first + (output_tokens - 1) * token if several else first),
        "tokens_per_second": row.tokens_per_second,
        "stable": row.stable,
        "on_target": row.on_target,
    }
    if row.advice is not None:
        data["advised_gamma"] = row.advice.gamma
        data["gain_probability"] = row.advice.gain_probability
    return data


def _simulated_json(request: TrafficRequest, each: Simulated) -> dict[str, Any]:
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


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _percentiles(name: str, seconds: Any) -> dict[str, float | None]:
    """Returns the mean and percentiles in milliseconds; null if no request has such a time."""
    names = [name, *(f"{name}_p{share}" for share in _PERCENTILES)]
    timed = seconds[~np.isnan(seconds)]
    if len(timed) == 0:
        return dict.fromkeys(names)
    found = [timed.mean(), *np.percentile(timed, _PERCENTILES)]
    return {each: 1e3 * float(value) for each, value in zip(names, found, strict=True)}


def _sustained(value: Callable[[TrafficRow], str]) -> Callable[[TrafficRow], str]:
    return lambda row: value(row) if row.stable else "-"


def _token_ms(row: TrafficRow) -> str:
    if not row.stable:
        return f"overloaded (max {row.state.max_rate:.3g}/s)"
    if np.isnan(row.state.token_seconds[0]):
        return "-"
    ends = None if row.token_seconds is None else [1e3 * each for each in row.token_seconds]
    interval = "" if ends is None else f" {_bounds(ends[0], ends[1], '.1f', 'overloaded')}"
    return f"{1e3 * row.state.token_seconds[0]:.2f}{interval}"


def _risk(row: TrafficRow) -> str:
    if row.overload_risk is None or not row.stable:
        return "-"
    return "< 1 %" if row.overload_risk < 0.01 else f"{100 * row.overload_risk:.0f} %"


def _note(row: TrafficRow) -> str:
    notes = ["misses the targets"] if row.on_target is False and row.stable else []
    if row.advice is not None and row.advice.gamma == 0:
        notes.append("undecided: run it first" if row.advice.undecided else "not advised")
    return ", ".join(notes)


_COLUMNS: list[Column[TrafficRow]] = [
    Column("requests/s", lambda row: f"{row.rate:g}"),
    Column("gamma", lambda row: str(row.gamma) if row.gamma > 0 else "none"),
    Column("batch", _sustained(lambda row: f"{row.state.batch[0]:.1f}")),
    Column("ms/token", _token_ms),
    Column("TTFT ms", _sustained(lambda row: f"{1e3 * row.state.first_seconds[0]:.0f}")),
    Column("tokens/s", _sustained(lambda row: f"{row.tokens_per_second:.0f}")),
]


_RISK: Column[TrafficRow] = Column("risk of overload", _risk)


def _simulated_columns(request: TrafficRequest) -> list[Column[Simulated]]:
    def percentile(name: str, share: int) -> Callable[[Simulated], str]:
        def cell(each: Simulated) -> str:
            seconds = getattr(each.result, f"{name}_seconds")
            found = _percentiles("ms", seconds)[f"ms_p{share}"]
            return "-" if found is None else f"{found:.0f}" if found >= 1e4 else f"{found:.4g}"

        return cell

    columns: list[Column[Simulated]] = [
        Column("simulated", lambda each: f"{each.rate:g}"),
        Column("gamma", lambda each: _POLICIES[each.policy]),
        Column("ms/token p50", percentile("token", 50)),
        Column("p99", percentile("token", 99)),
        Column("TTFT ms p50", percentile("first", 50)),
        Column("p99", percentile("first", 99)),
        Column("preempted", lambda each: str(each.result.preemptions)),
    ]
    targets = request.targets
    if targets is not None:
        columns.append(
            Column("on target", lambda each: f"{100 * each.result.within(targets):.1f} %")
        )
    return columns


def _capacity(found: Traffic) -> list[str]:
    interval, without = (
        "" if each is None else f" ({percent()}: {each[0]:.3g} to {each[1]:.3g})"
        for each in (found.max_rate_interval, found.max_rate_without_interval)
    )
    return [
        f"Capacity: {found.max_rate:.3g} requests/s{interval} with speculation, "
        f"{found.max_rate_without:.3g}{without} without."
    ]


def _crossing(found: Traffic) -> str:
    crossing, (low, high) = found.break_even, found.break_even_interval or (np.inf, 0.0)
    if crossing is None or crossing == 0:
        short, edge = crossing is None, low if crossing is None else high
        verb, other = ("shortens", "lengthen") if short else ("lengthens", "shorten")
        if edge == (np.inf if short else 0):
            advice = "" if short else ": do not speculate"
            return f"Speculation {verb} requests at every rate{advice}."
        opening = f"Speculation most probably {verb} requests at every rate; "
        if edge in (0, np.inf):
            return f"{opening}at none is that sure."
        where = f"{'above' if short else 'up to'} {edge:.3g} requests/s"
        return f"{opening}{where} it may {other} them."
    ends = "" if found.break_even_interval is None else f" {_bounds(low, high, '.3g', 'never')}"
    return f"Above {crossing:.3g}{ends} requests/s speculation lengthens requests."


def _bounds(low: float, high: float, form: str, infinite: str) -> str:
    """Returns an interval as text; the word `infinite` replaces an infinite end."""
    return bounds(low, high, form).replace("inf", infinite)
