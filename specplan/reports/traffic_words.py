"""The answer of `specplan traffic` in sentences: what to run, at which rates, how surely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.choice.advice import NEAR, certainty, percentage
from simulator.numerics.intervals import percent
from simulator.traffic.answer import Traffic, TrafficRequest
from specplan.reports.traffic_limits import (
    crossing_lines,
    prompts_lines,
    prompts_per_second,
    zero_lines,
)

Json = Mapping[str, Any]
_MOST = "most_requests_per_second"


def traffic_sentence(answer: Traffic, data: Json, *, assumed: str) -> str:
    """Returns the advice: K, its gain by rate, how sure that is, and what it does to the capacity.

    data: the JSON object of the answer, without this sentence.
    assumed: the assumption behind all rates, after a comma; "" if there is none.
    """
    drafting = [point for point in data["rows"] if point["speculation"] and point["gamma"]]
    without, most, crossing = data[f"{_MOST}_without"], data[_MOST], data["break_even_rate"]
    capacity = f"Capacity: {without:.3g} requests/s without speculation"
    if not drafting:
        return f"Serve without speculation: no K is possible here. {capacity}."
    capacity += f", {most:.3g} with"
    carried = [point for point in drafting if point["stable"]]
    gains = [
        point for point in carried
        if (point["speed_up"] is None or point["speed_up"] > 1)
        and (point["undecided"] or point["advised_gamma"])
    ]  # fmt: skip
    first = f"Undecided: run {', '.join(f'K = {k}' for k in answer.to_run)} and K = 0 first"
    if not gains:
        confirmed = ", if runs confirm it" * answer.undecided
        edge = f"Drafts gain only below {crossing:.3g} requests/s{confirmed}. " if crossing else ""
        first *= any(point["undecided"] for point in carried)
        return f"{_no_gain(first, data, carried)}. {edge}{capacity}."
    every = {None: "at every rate below the capacity", 0: "at these rates"}
    edge = every.get(crossing, f"up to {crossing or 0:.3g} requests/s") + assumed
    lengths = " or ".join(dict.fromkeys(f"K = {point['gamma']}" for point in gains))
    start = f"Draft with {lengths} {edge}: requests are {_speeds(gains)}"
    if answer.undecided:
        start = f"{first}. With {lengths} requests may be {_speeds(gains)}, and faster {edge}"
    return f"{start}. {_change(gains[-1], without)}"


def _no_gain(first: str, data: Json, carried: Sequence[Json]) -> str:
    """Returns the advice where drafts gain at no rate.

    first: the runs that must decide; "": it is decided. carried: rows with drafts, not overloaded.
    """
    where = "at any rate" if data["break_even_rate"] == 0 else "at these rates"
    if carried:
        start = (
            f"{first}, though no gain is likely {where}" if first else f"Do not speculate {where}"
        )
        return f"{start}: requests are {_speeds(carried)}"
    if any(point["stable"] for point in data["rows"]):
        return f"Do not speculate {where}: they overload a server that drafts"
    return "These rates overload the server, with speculation and without"


def _speeds(points: Sequence[Json]) -> str:
    """Returns the speed-up and its probability at the first and the last of some rates."""
    ends = points if len(points) < 3 else [points[0], points[-1]]
    several = len({point["gamma"] for point in ends}) > 1
    parts, gain = [], "a gain is "
    for point in ends:
        speed_up, chance, at = point["speed_up"], point["gain_probability"], f"{point['rate']:g}/s"
        odds = [f"K = {point['gamma']}"] * several
        if chance is not None and speed_up is not None:
            words = certainty(chance).replace("a loss is likelier", "unlikely")
            odds.append(f"{gain}{words}, {percentage(chance)} %")
            gain = ""
        faster = "carried only with drafts" if speed_up is None else f"{speed_up:.2f} times as fast"
        parts.append(f"{faster} at {at}" + f" ({'; '.join(odds)})" * bool(odds))
    return " and ".join(parts)


def _change(point: Json, without: float) -> str:
    """Returns what a K does to the capacity, which is `without` requests/s without speculation."""
    fixed, by_batch = point[_MOST], point["by_batch"][_MOST]
    more = f"; {by_batch:.3g} if K changes with the batch" * (by_batch > (1 + NEAR) * fixed)
    change = f"{100 * (fixed / without - 1):+.0f} %".replace("-0", "0")
    return (
        f"K = {point['gamma']} moves the capacity from {without:.3g} to {fixed:.3g} requests/s "
        f"({change}{more})."
    )


def _left_out(rows: Sequence[Json]) -> list[float]:
    """Returns the rates that overload the server both ways, without the first two of them."""
    both = zip(rows[::2], rows[1::2], strict=True)
    return [slow["rate"] for slow, quick in both if not (slow["stable"] or quick["stable"])][2:]


def few_overloaded(rows: Sequence[Json]) -> list[Json]:
    """Returns rows of an answer with at most two of the rates that overload the server both ways.

    rows: two for each rate, without and with speculation.
    """
    return [point for point in rows if point["rate"] not in _left_out(rows)]


def details(request: TrafficRequest, answer: Traffic, data: Json) -> list[str]:
    """Returns the sentences after the advice; data: see `traffic_sentence`."""
    chances = {row.rate: row.gain_probability for row in answer.rows if row.gamma}
    interval, without = (
        "" if ends is None else f" ({percent()}: {ends[0]:.3g} to {ends[1]:.3g})"
        for ends in (answer.max_rate_interval, answer.max_rate_without_interval)
    )
    lines = [
        f"Capacity: {answer.max_rate:.3g} requests/s{interval} with speculation, "
        f"{answer.max_rate_without:.3g}{without} without.",
        *crossing_lines(answer.break_even, answer.break_even_interval, chances),
        *zero_lines(answer.break_even, data["zero"]),
        *prompts_lines(answer.max_rate_without, prompts_per_second(request)),
    ]
    how = "closed form" if answer.simulated else "p99: --simulate"
    share = f"{100 * request.share:.0f} % of the requests meet them"
    for words, rates in (("Mean times meet your targets", answer.within_targets),
                         (share, answer.at_share)):  # fmt: skip
        if rates is not None:
            ends = f"{rates[0]:.3g} requests/s with speculation, {rates[1]:.3g} without"
            lines.append(f"{words} up to {ends} ({how}).")
    if request.replicas > 1:
        lines.insert(0, f"Rates and capacities are of {request.replicas} replicas together.")
    ranges = [f"{part.gamma} up to batch {part.last_batch}" for part in answer.schedule]
    what = "K by batch, if runs confirm it" if answer.undecided else "Advised gamma by batch"
    apart = "A row's gamma is one for all batches of its rate, prompts included, so it may differ."
    lines.append(f"{what}: {', '.join(ranges)}. {apart}")
    if more := _left_out(data["rows"]):
        lines.append(f"More rates overload the server: {', '.join(f'{rate:g}' for rate in more)}.")
    return lines
