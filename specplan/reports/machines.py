"""Several machines of `specplan traffic`: JSON, the sentence that compares them, and text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulator.cost.roofline.hardware import find_hardware
from simulator.numerics.intervals import percent
from specplan.reports.rate_choices import BEST_BY_RATE
from specplan.reports.sizing import shell
from specplan.reports.table import Column, folded, ranged, table

Json = Mapping[str, Any]
WAYS = {True: "with speculation", False: "without"}
MOST = "most_requests_per_second"
_LISTS = re.compile(r"(--gpu|--tp)[ =](?:'[^']*'|\S+)")


def machine_rows(
    machines: Sequence[tuple[str, int]], answers: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Returns each machine's JSON answer with its GPU and TP, also in the command of its next runs.

    machines: (GPU, TP).
    """
    rows = []
    for (gpu, tp), data in zip(machines, answers, strict=True):
        named = f"this command with --gpu {gpu} --tp {tp} only (MS"
        details = [line.replace("this command (MS", named) for line in data["details"]]
        again = _for_machine(data.get("next_command") or "", gpu, tp)
        row = {"gpu": find_hardware(gpu).name, "tp": tp, **data, "details": details}
        rows.append(row | {"next_command": again})
    return rows


def _for_machine(command: str, gpu: str, tp: int) -> str:
    """Returns a command with one machine in place of its lists; "" stays."""
    one = {"--gpu": gpu, "--tp": str(tp)}
    words = _LISTS.sub(lambda match: f"{match[1]} {one[match[1]]}", command)
    return f"{words} --tp {tp}" if words and "--tp " not in words else words


def machine_names(rows: Sequence[Json]) -> list[str]:
    """Returns each machine's GPU, and its TP where that differs; rows: see `machine_rows`."""
    alike = len({one["tp"] for one in rows}) == 1
    return [one["gpu"] + f", TP {one['tp']}" * (not alike) for one in rows]


def ranked_machines(rows: Sequence[Json]) -> list[int]:
    """Returns the places of machines. Those that serve all rates come first, then fast ones."""
    places = range(len(rows))
    return sorted(places, key=lambda at: (bool(machine_fails(rows[at])), -max(_speeds(rows[at]))))


def machines_sentence(rows: Sequence[Json]) -> str:
    """Returns which machine to take: the one with the most requests a GPU that serves the rates."""
    names, best = machine_names(rows), ranked_machines(rows)[0]
    *some, last = (f"{state['rate']:g}" for state in rows[0]["rows"][::2])
    rates = f"{', '.join(some)} and {last}" if some else last
    within = _goal(rows[0]) != MOST
    goal = f"{'keeps the targets at' if within else 'carries'} {rates} requests/s"
    start = f"Take {names[best]}: it {goal}, and"
    if machine_fails(rows[best]):
        start = f"No machine {goal}. {names[best]}"
    share = 100 * rows[best].get("share", 0.0)
    where = f" with {share:.0f} % of them within the targets" * within
    to_run = rows[best].get("to_run")
    first = f" Runs of {to_run} and K = 0 must show whether to draft." if to_run else ""
    return f"{start} serves the most requests a GPU{where}: {_served(rows[best])}.{first}"


def machines_details(rows: Sequence[Json]) -> list[str]:
    """Returns the second machine, those that fail, the advice of the others, and the next runs."""
    names, order = machine_names(rows), ranked_machines(rows)
    fine = [at for at in order if not machine_fails(rows[at])]
    first, second = order[:2]
    (low, _), (other, high) = (_interval(rows[at]) for at in (first, second))
    known, apart = bool(low and other), low > high
    doubt = "lie apart" if apart else "overlap: the second may carry as much"
    lines = [
        f"Second: {names[second]}, {_served(rows[second])}."
        + f" The {percent()} intervals of their capacities {doubt}." * known
        + " Prices are not given: machines are ranked by requests a GPU."
    ] * (second in fine or not fine)
    failed = {at: machine_fails(rows[at]) for at in order if at not in fine}
    lines += [f"{names[at]} {' and '.join(words)}." for at, words in failed.items()]
    lines += [f"{names[at]}: {' '.join([rows[at]['sentence'], *_by_rate(rows[at])])}"
              for at in fine or order]  # fmt: skip
    high_end, to_run = "The high end", "Next: "
    lines += [
        line.replace(high_end, f"{high_end} of {names[first]}")
        for line in rows[first]["details"]
        if line.startswith((high_end, to_run))
    ]
    return lines


def _by_rate(one: Json) -> list[str]:
    """Returns the sentence on the K of every rate of a machine, if there is one."""
    return [line for line in one["details"] if line.startswith(BEST_BY_RATE)]


def _served(one: Json) -> str:
    """Returns requests a second of each GPU, the better way first."""
    drafting, plain = _speeds(one)
    way, other = ("with", "without") if drafting > plain else ("without", "with")
    undecided = any(part.get("test_gamma") for part in one["schedule"])
    first = ", if runs confirm its gain" * (drafting > plain and undecided)
    numbers = f"{max(drafting, plain):.3g}/s {way} speculation{first}"
    return f"{numbers} ({min(drafting, plain):.3g} {other})"


def _interval(one: Json) -> tuple[float, float]:
    """Returns the ends of the capacity of each GPU, of the better way; zeros if it is exact."""
    drafting, plain = _speeds(one)
    key = f"{MOST}{'' if drafting > plain else '_without'}"
    low, high = ((one.get(f"{key}_{end}") or 0.0) / one["tp"] for end in ("low", "high"))
    return low, high


def machine_fails(one: Json) -> list[str]:
    """Returns how a machine fails at the stated rates; [] if it serves all of them."""
    both = zip(one["rows"][::2], one["rows"][1::2], strict=True)
    return [words for ways in both if (words := _failure(ways, one.get("slo") or {}))]


def _failure(ways: Sequence[Json], targets: Mapping[str, float | None]) -> str:
    """Returns how a machine fails at a rate, with speculation and without; "" if it serves it."""
    carried = [way for way in ways if way["stable"]]
    if not carried:
        return f"is overloaded at {ways[0]['rate']:g}/s"
    if any(way["on_target"] is not False for way in carried):
        return ""
    missed = [name.removesuffix("_ms").upper() for name, limit in targets.items()
              if limit is not None and (carried[0][name] or 0.0) > limit]  # fmt: skip
    return f"misses {' and '.join(missed)} at {ways[0]['rate']:g}/s"


def _goal(one: Json) -> str:
    """Returns the key of the rate that counts: within the targets, if there are any."""
    return f"{MOST}_at_share" if f"{MOST}_at_share" in one else MOST


def _speeds(one: Json) -> list[float]:
    """Returns requests a second of each GPU with speculation and without."""
    return [one[f"{_goal(one)}{way}"] / one["tp"] for way in ("", "_without")]


def machine_columns(rows: Sequence[Json]) -> list[Column[Json]]:
    """Returns the columns of a table of machines; rows: see `machine_rows`."""

    def capacity(way: str) -> Callable[[Json], str]:
        names = [f"{MOST}{way}{end}" for end in ("", "_low", "_high")]
        return lambda one: ranged(one[names[0]], one[names[1]], one[names[2]], ".3g")

    columns: list[Column[Json]] = [
        ("GPU", "{gpu}"),
        ("TP", "{tp}"),
        ("capacity with speculation, best K", capacity("")),
        ("capacity without", capacity("_without")),
    ]
    if (goal := _goal(rows[0])) != MOST:
        share = f"{100 * rows[0]['share']:.0f} % within the targets"
        columns += [(f"{share}, best K", f"{{{goal}:.3g}}"),
                    (f"{share}, without", f"{{{goal}_without:.3g}}")]  # fmt: skip
    return columns


def machines_text(rows: Sequence[Json], texts: Sequence[str]) -> str:
    """Returns the capacities of machines as a table, then the text of each.

    rows: see `machine_rows`. texts: the answer of each machine as text.
    """
    parts = [f"{one['gpu']}, TP {one['tp']}\n\n{text}"
             for one, text in zip(rows, texts, strict=True)]  # fmt: skip
    lines = [machines_sentence(rows), *machines_details(rows)]
    again = rows[ranked_machines(rows)[0]]["next_command"]
    answer = "\n".join([*map(folded, lines), *[shell(again)] * bool(again)])
    return "\n\n".join([table(rows, machine_columns(rows)), answer, *parts])
