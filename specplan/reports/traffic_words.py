"""The answer of `specplan traffic` in sentences: what to run, at which rates, how surely."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from simulator.choice.odds import certainty, percentage
from simulator.numerics.intervals import percent
from simulator.traffic.answer import Traffic, TrafficRequest
from specplan.reports.lengths import listed
from specplan.reports.next_run import LAUNCHES, WIDE, next_line
from specplan.reports.rate_choices import one_setting_lines, ranges_lines, ranges_words
from specplan.reports.traffic_limits import (
    missed_words,
    prompts_lines,
    prompts_per_second,
    zero_lines,
)

Json = Mapping[str, Any]
_MOST = "most_requests_per_second"
_RUN = re.compile(r"--run [^ ]+")


def traffic_sentence(answer: Traffic, data: Json, *, assumed: str) -> str:
    """Returns the advice, and the rates at which no setting keeps the latency targets.

    data: the JSON object of the answer, without this sentence.
    assumed: the assumption behind all rates, after a comma; "" if there is none.
    """
    return _advice(answer, data, assumed) + missed_words(answer, data)


def _advice(answer: Traffic, data: Json, assumed: str) -> str:
    """Returns K, its gain by rate, how sure that is, and where drafts lose."""
    drafting = [point for point in data["rows"] if point["speculation"] and point["gamma"]]
    without, crossing = data[f"{_MOST}_without"], data["break_even_rate"]
    if not drafting:
        capacity = f"Capacity: {without:.3g} requests/s"
        return f"Serve without speculation: no K is possible here. {capacity}."
    carried = [point for point in drafting if point["stable"]]
    gains = [
        point for point in carried
        if (point["speed_up"] is None or point["speed_up"] > 1)
        and (point["undecided"] or point["advised_gamma"])
    ]  # fmt: skip
    first = f"Undecided: run {', '.join(f'K = {k}' for k in answer.to_run)} and K = 0 first"
    if not gains:
        confirmed = ", if runs confirm it" * answer.undecided
        edge = f" Drafts gain only below {crossing:.3g} requests/s{confirmed}." if crossing else ""
        first *= any(point["undecided"] for point in carried)
        return f"{_no_gain(first, data, carried)}.{edge}"
    if answer.undecided:
        lengths = " or ".join(dict.fromkeys(f"K = {point['gamma']}" for point in gains))
        start = f"{first}. With {lengths} requests may be {_speeds(gains)}{assumed}"
    else:
        start = f"Draft with {_where(gains, data)}{assumed}: requests are {_speeds(gains)}"
    lost = [
        _lost(at, gains[-1]) for at in carried if at not in gains and at["speed_up"] is not None
    ]
    other = f" At {' and '.join(lost)} do not speculate." if lost else ""
    return f"{start}.{other}"


def _where(gains: Sequence[Json], data: Json) -> str:
    """Returns the K to draft with from the lowest stated rate on, and up to which rates.

    gains: rows at which drafts gain.
    """
    lowest = gains[0]["rate"]
    ranges = [part for part in data["ranges"] if (part["last_rate"] or inf) >= lowest]
    if {point["gamma"] for point in gains} <= {part["gamma"] for part in ranges}:
        return ranges_words({**data, "ranges": ranges})
    return " or ".join(dict.fromkeys(f"K = {point['gamma']}" for point in gains))


def _lost(point: Json, gaining: Json) -> str:
    """Returns a rate at which drafts lose, and by how much; gaining: a row at which they gain."""
    served = point["simulated"] is not None
    about, how = "about " * (point["near_capacity"] and not served), ", simulated" * served
    text = f"{about}{point['speed_up']:.2f} times with K = {point['gamma']}{how}"
    text += f"; K = {gaining['gamma']} is overloaded" * (gaining[_MOST] < point["rate"])
    return f"{point['rate']:g}/s ({text})"


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
            odds.append(f"{gain}{words}, {percentage(chance)}")
            gain = ""
        faster = "carried only with drafts" if speed_up is None else f"{speed_up:.2f} times as fast"
        parts.append(f"{faster} at {at}" + f" ({'; '.join(odds)})" * bool(odds))
    return " and ".join(parts)


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
    """Returns the sentences after the advice: how sure it is, and what to run next.

    data: see `traffic_sentence`.
    """
    lines = [
        *ranges_lines(data, answer.break_even_interval),
        *_unrun(request, data),
        *one_setting_lines(data),
        *zero_lines(answer.break_even, data["zero"]),
        _capacities(request, answer, data),
    ]
    if request.replicas > 1:
        lines.insert(0, f"Rates and capacities are of {request.replicas} replicas together.")
    if answer.at_share is not None:
        words = f"{100 * request.share:.0f} % of the requests meet your targets"
        lines.append(_up_to(words, answer.at_share, answer))
    undecided = (point for point in data["rows"] if point.get("undecided"))
    wide = (one for one in undecided if (one["tpot_ms_high"] or 0.0) > WIDE * one["tpot_ms"])
    words = (
        "The high end with K = {gamma} at {rate:g}/s ({tpot_ms_high:.1f} ms a token) is far above "
        "the middle, {tpot_ms:.2f}, "
    )
    lines += [f"{words.format(**one)}because {LAUNCHES}" for one in wide][:1]
    return [*lines, *next_lines(request, data)]


def _unrun(request: TrafficRequest, data: Json) -> list[str]:
    """Returns that an advised K was not run, where others were."""
    ran = set[int]().union(*request.pair.measured.values())
    gammas = sorted({part["gamma"] for part in data["ranges"] if part["verdict"] == "gain"} - ran)
    named = " and ".join(f"K = {gamma}" for gamma in gammas)
    if not ran or not gammas:
        return []
    return [f"Not run yet: {named}. Confirm by a run before you rely on it."]


def _capacities(request: TrafficRequest, answer: Traffic, data: Json) -> str:
    """Returns the capacities without speculation, of each K that is shown, and of the best one."""
    interval, without = (
        "" if ends is None else f" ({percent()}: {ends[0]:.3g} to {ends[1]:.3g})"
        for ends in (answer.max_rate_interval, answer.max_rate_without_interval)
    )
    most = request.pair.max_rates()
    largest = request.pair.gammas[int(most.argmax())] if most.any() else 0
    shown = {point["gamma"]: point[_MOST] for point in data["rows"] if point["gamma"]}
    others = [f"{rate:.3g} with K = {gamma}" for gamma, rate in shown.items() if gamma != largest]
    if largest:
        others.append(f"{answer.max_rate:.3g} with K = {largest}{interval}, the most of any K")
    by_batch = max(
        (point["by_batch"][_MOST] for point in data["rows"] if point["gamma"]), default=0
    )
    changing = f"; {by_batch:.3g} if K changes with the batch" * (len(data["schedule"]) > 1)
    return (
        f"Capacity: {answer.max_rate_without:.3g} requests/s without speculation{without}, "
        f"{', '.join(others)}{changing}."
    )


def remarks(request: TrafficRequest, answer: Traffic, data: Json) -> list[str]:
    """Returns what a page folds: where other choices are best, and what limits the server."""
    lines = [
        *prompts_lines(answer.max_rate_without, prompts_per_second(request)),
    ]
    if answer.within_targets is not None:
        lines.append(_up_to("Mean times meet your targets", answer.within_targets, answer))
    ranges = [(part.first_batch, part.last_batch, part.gamma) for part in answer.schedule]
    what = "By batch, if runs confirm it" if answer.undecided else "Advised by batch"
    apart = "A row's gamma is one for all batches of its rate, prompts included, so it may differ."
    lines.append(f"{what}: {listed(ranges, 'batch')}. {apart}")
    if more := _left_out(data["rows"]):
        lines.append(f"More rates overload the server: {', '.join(f'{rate:g}' for rate in more)}.")
    return lines


def _up_to(words: str, rates: tuple[float, float], answer: Traffic) -> str:
    how = "closed form" if answer.simulated else "p99: --simulate"
    return (
        f"{words} up to {rates[0]:.3g} requests/s with speculation, {rates[1]:.3g} without ({how})."
    )


def next_lines(request: TrafficRequest, data: Json) -> list[str]:
    """Returns the runs that decide, and the options that add them; [] if none must."""
    lines = dict[int, str]()
    for plain, drafting in zip(data["rows"][::2], data["rows"][1::2], strict=True):
        if drafting.get("undecided") and drafting["gamma"] not in lines:
            batch = round(max(plain["batch"] if plain["stable"] else drafting["batch"], 1))
            context = round(request.pair.demand.context)
            gammas = [0, drafting["gamma"]]
            line = next_line(gammas, batch=batch, context=context, counted=True)
            lines[drafting["gamma"]] = line
    return list(lines.values())


def next_command(lines: Sequence[str], command: str | None) -> str:
    """Returns a command with the runs of `next_lines`; "" if there are none, or no command.

    command: the command that the runs are added to; None: not known.
    """
    runs = [run for line in lines if line.startswith("Next: ") for run in _RUN.findall(line)]
    return " ".join([command, *dict.fromkeys(runs)]) if command and runs else ""
