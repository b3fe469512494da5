"""Tables and JSON of `specplan traffic`: steady states at each rate, and simulated arrivals."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from simulator.numerics.intervals import CONFIDENCE
from simulator.traffic.answer import Traffic, TrafficRequest
from simulator.traffic.pair import Pair
from simulator.traffic.row import Interval, TrafficRow
from simulator.traffic.steady import CHUNKS_TRUSTED, PROMPTS_TRUSTED, TRUSTED, Steady
from specplan.reports.deployment import ranges_json
from specplan.reports.rate_choices import choices_json
from specplan.reports.rate_rows import rate_columns, row_note, simulated_columns
from specplan.reports.simulated import add_speed_ups, simulated_json
from specplan.reports.sizing import shell
from specplan.reports.table import folded, possible, table
from specplan.reports.traffic_limits import assumption, prompts_per_second, server_lines, zero_json
from specplan.reports.traffic_words import details, few_overloaded, remarks, traffic_sentence

_MOST = "most_requests_per_second"
_DECODED = "of the time in which a request is decoded"
# By the share of the capacity up to which times are trusted: in per cent, why, and what is longer.
_SHORT = {
    TRUSTED: (80, "", "12 % per token, and 40 % to the first token"),
    CHUNKS_TRUSTED: (
        30,
        f", because a chunk of prompts takes over an eighth {_DECODED}",
        "37 % per token",
    ),
    PROMPTS_TRUSTED: (50, f", because a prompt takes over 7.5 % {_DECODED}", "8 % per token"),
}
_RISK = (
    "Column capacity: requests/s at the row's K, as most probable. Risk of overload: how probable "
    "it is that the rate exceeds it, with costs and acceptance in doubt."
)


def traffic_json(request: TrafficRequest, answer: Traffic) -> dict[str, Any]:
    demand, most = request.pair.demand, _MOST
    data: dict[str, Any] = {
        "prompt_tokens": demand.prompt_tokens,
        "output_tokens": demand.output_tokens,
        "replicas": request.replicas,
        "rows": [_row_json(request.pair, row) for row in answer.rows],
        **_interval(most, answer.max_rate, answer.max_rate_interval),
        **_interval(f"{most}_without", answer.max_rate_without, answer.max_rate_without_interval),
        **_interval("break_even_rate", answer.break_even, answer.break_even_interval),
        "zero": zero_json(request),
        "draws": answer.draws,
        "confidence": CONFIDENCE,
        "most_sequences": request.pair.drafting.max_batch(demand),
        "schedule": ranges_json(answer.schedule, undecided=answer.undecided),
        **choices_json(answer),
    }
    if answer.within_targets is not None:
        both = ("slo_requests_per_second", "slo_requests_per_second_without")
        data |= dict(zip(both, answer.within_targets, strict=True))
    if answer.at_share is not None:
        names = (f"{most}_at_share", f"{most}_at_share_without")
        data |= {**dict(zip(names, answer.at_share, strict=True)), "share": request.share}
    if request.arrivals is not None:
        data["simulated"] = [simulated_json(request, simulation) for simulation in answer.simulated]
    add_speed_ups(data["rows"], data.get("simulated") or (), output_tokens=demand.output_tokens)
    data["to_run"] = " and ".join(f"K = {gamma}" for gamma in answer.to_run * answer.undecided)
    data["sentence"] = traffic_sentence(answer, data, assumed=assumption(request.pair))
    data["details"] = details(request, answer, data)
    return possible(data, prompts_per_second=prompts_per_second(request))


def traffic_text(answer: Traffic, data: Mapping[str, Any]) -> str:
    """Returns a table of rates, capacities and advice; data: the JSON object of the answer."""
    lines = list[str]()
    if len(answer.schedule) > 1:
        lines.append("K by batch: how much faster requests are if K changes so with the batch.")
    lines += [_RISK] * bool(answer.draws)
    simulated = data.get("simulated") or ()
    served = ["", table(simulated, simulated_columns(simulated))] if simulated else []
    rates = table(few_overloaded(data["rows"]), rate_columns(data), note=row_note)
    again = [shell(data["next_command"])] if data.get("next_command") else []
    advice, notes = map(folded, [data["sentence"], *data["details"]]), map(folded, data["notes"])
    return "\n".join([rates, "", *advice, *again, *map(folded, lines), *served, *notes])


def fine_print(request: TrafficRequest, answer: Traffic, data: Mapping[str, Any]) -> list[str]:
    """Returns sentences on limits, on times that may be too short, and on captured graphs.

    data: the JSON object of the answer, without these notes.
    """
    near = [row for row in answer.rows if row.near_capacity]
    gammas = {row.gamma for row in answer.rows} - {0}
    lines = remarks(request, answer, data)
    if near and answer.simulated:
        lines.append("~ Near the capacity the closed form is inexact: these times are simulated.")
    elif near:
        share, why, longer = _SHORT[min(row.trusted for row in near)]
        start = f"~ Above {share} % of the capacity these times may be too short{why}"
        lines.append(f"{start}: in simulations up to {longer}. --simulate shows them.")
    return [*lines, *server_lines(request.pair, gammas)]


def _row_json(pair: Pair, row: TrafficRow) -> dict[str, Any]:
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
        "ttft_ms": 1e3 * first,
        "request_ms": 1e3 * (first + (output_tokens - 1) * token if several else first),
        "tokens_per_second": row.tokens_per_second,
        "stable": row.stable,
        "replicas_needed": row.replicas_needed,
        _MOST: row.most_requests,
        "near_capacity": row.near_capacity,
        "most_sequences": most,
        "beyond_graphs": pair.wall is not None and bool(pair.wall.beyond(batch, row.gamma)),
        "on_target": row.on_target,
    }
    if row.advice is not None:
        data["advised_gamma"] = 0 if row.loses else row.advice.gamma
        data["undecided"] = row.undecided
        data["gain_probability"] = row.gain_probability
    if row.by_batch is not None:
        data["by_batch"] = _by_batch_json(pair, row, row.by_batch)
    return data


def _by_batch_json(pair: Pair, row: TrafficRow, state: Steady) -> dict[str, float | None]:
    """Returns the times with K by batch, and by how many per cent requests are faster with it."""
    seconds, fixed = (
        float(loaded.request_seconds(pair.demand)[0]) for loaded in (state, row.state)
    )
    both = row.stable and isfinite(seconds)
    return {
        "tpot_ms": 1e3 * float(state.token_seconds[0]) if pair.demand.output_tokens > 1 else None,
        "ttft_ms": 1e3 * float(state.first_seconds[0]),
        "request_ms": 1e3 * seconds,
        _MOST: row.replicas * float(state.max_rate),
        "faster_percent": 100 * (fixed / seconds - 1) if both else None,
    }


def _interval(
    name: str, value: float | None, ends: Interval | None, scale: float = 1.0
) -> dict[str, float | None]:
    """Returns the JSON fields of a number and its interval, multiplied by `scale`."""
    low, high = ends or (None, None)
    fields = {name: value, f"{name}_low": low, f"{name}_high": high}
    return {key: None if value is None else scale * value for key, value in fields.items()}
