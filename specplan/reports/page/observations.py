"""The sections of an observed server and of a tree of drafts."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from engines.observing.drift import Drift, Moved
from simulator.choice.odds import percentage
from simulator.numerics.intervals import percent
from specplan.reports.basis import ALPHA
from specplan.reports.drift import drift_text
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import Chart, Section, Table, Threshold, number, ranged, series
from specplan.reports.page.plans import EXPORT, INTERVALS, curve_chart, curve_table, sureness
from specplan.reports.table import cells
from specplan.reports.trees import batch_columns

Json = Mapping[str, Any]
# A history has at least so many intervals.
_LEAST_INTERVALS = 2
_TREES = {"best": "best tree", "chain": "best chain"}
_RANKS = "--acceptance-by-rank"
_EXPORT = "With --export PROGRAM (sglang, specplan) the command also gives the flags."
_RATES = ("accepted_by_position", "conditional")


def observation_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan observe`."""
    observed, source = document.data, document.data["source"]
    plan = observed.get("plan")
    length = f"{observed['block_efficiency']:.2f} tokens per call at K = {observed['gamma']}"
    sure = [_accepted(observed)]
    if observed.get("iid_consistent") is False:
        sure.append("Positions are not accepted equally often, and plans count that.")
    further = [name for name in _RATES if observed[name]]
    names = {
        "accepted_by_position": "accepted, of all drafts",
        "conditional": "if those before are",
    }
    lines = [
        points
        for colour, name in enumerate(further)
        for points in series(
            names[name], colour,
            ((at, rate["value"], rate["low"], rate["high"])
             for at, rate in enumerate(observed[name], 1)),
        )
    ]  # fmt: skip
    chart = Chart(
        "acceptance", "Acceptance by position",
        "Share of drafts whose first, second, … token is accepted, counted by the server.",
        "position in the draft", "share", lines,
    )  # fmt: skip
    charts = [chart] * bool(lines)
    if plan is not None:
        charts.insert(0, curve_chart(plan, plan["curve"]))
        covered = observed.get("intervals") or ""
        odds = [line for line in sureness(plan) if line != INTERVALS or not covered]
        sure = [observed.get("sentence") or "", covered, *odds, f"Observed: {length}.", *sure]
    if observed.get("drift") is not None:
        sure.insert(0, _drift(observed["drift"]))
    charts += _history(observed.get("history") or ())
    served = " ".join(filter(None, [source["kind"], source.get("version"), source.get("model")]))
    cells = [
        [str(at), _rate(rate), _rate(other)]
        for at, (rate, other) in enumerate(
            zip(observed["accepted_by_position"], observed["conditional"], strict=True), 1
        )
    ]
    alpha = observed["alpha_iid"]
    inputs = [("server", served), ("drafts", f"{observed['drafts']:,}"), *document.inputs]
    if alpha is not None:
        inputs.append(("α, if positions were equal", _rate(alpha)))
    return Section(
        kind="Observed",
        about=", ".join(filter(None, [served, document.about])),
        headline=f"Observed: {length}." if plan is None else plan["sentence"],
        sure=[*filter(None, sure)],
        charts=charts,
        tables=[
            *([] if plan is None else [curve_table(plan, plan["curve"])]),
            *([Table("By position", ["position", *names.values()], cells)] if cells else []),
        ],
        flags=document.flags,
        export="" if plan is None else EXPORT,
        inputs=inputs,
        command=document.command,
        notes=[] if plan is None else plan["notes"],
        basis="" if plan is None else document.basis,
    )


def _accepted(observed: Json) -> str:
    """Returns the accepted share of drafted tokens, the acceptance rate, and how both differ."""
    share = f"{100 * observed['accepted_fraction']:.0f} % of {observed['drafted']:,} drafted tokens"
    counted, alpha = f"Accepted: {share}, in {observed['drafts']:,} drafts", observed["alpha_iid"]
    if alpha is None:
        return f"{counted}."
    least = "at least " * observed["alpha_iid_is_lower_bound"]
    return f"{counted}; α {least}{alpha['value']:.2f}. {ALPHA.replace('alpha', 'α')}"


def _why(rows: Sequence[Json]) -> list[str]:
    """Returns a sentence on tokens and time of a call at the first batch; [] without a tree."""
    best, batch = rows[0]["best"], f" at batch {rows[0]['batch']}" * (len(rows) > 1)
    tokens, steps = best["expected_tokens"], best["expected_tokens"] / best["improvement_factor"]
    why = f"yields {tokens:.2f} tokens and takes {steps:.2f} times a step without speculation."
    return [f"A call with the best tree{batch} {why}"] * (best["nodes"] > 0)


def _drift(observed: Json) -> str:
    moved = tuple(Moved(**position) for position in observed["moved"])
    fields = {name: observed[name] for name in Drift._fields}
    return drift_text(Drift(**fields | {"moved": moved}), best_gamma=observed["best_gamma"])


def _history(intervals: Sequence[Json]) -> list[Chart]:
    """Returns the chart of a followed server's tokens per call; [] for a single interval."""
    if len(intervals) < _LEAST_INTERVALS:
        return []
    points = ((at, interval["length"], interval["low"], interval["high"], interval["clock"])
              for at, interval in enumerate(intervals, 1))  # fmt: skip
    return [
        Chart(
            "history", "Tokens per call since the start",
            f"One point an interval, the last {len(intervals)}. Where the band leaves out the "
            "line, acceptance differs from the start by more than chance.",
            "interval", "tokens per call", series("tokens per call", 0, points),
            levels=[Threshold(intervals[-1]["expected"], "at the start")],
        )
    ]  # fmt: skip


def _rate(rate: dict[str, float]) -> str:
    return f"{number(rate['value'], 3)} [{number(rate['low'], 3)}, {number(rate['high'], 3)}]"


def tree_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan tree`."""
    answer = document.data
    rows = answer["rows"]
    names = [str(point["batch"]) for point in rows]
    dots_of_batches = [
        dots
        for colour, (name, label) in enumerate(_TREES.items())
        for dots in series(
            label, colour,
            ((at, *(point[name].get(f"improvement_factor{end}") for end in ("", "_low", "_high")))
             for at, point in enumerate(rows)),
            "dots",
        )
    ]  # fmt: skip
    heads, *lines = cells(rows, [
        *batch_columns(rows),
        ("chain's interval", lambda point: ranged(point["chain"], "improvement_factor")),
        ("odds of a gain, chain", lambda point: percentage(point["gain_probability"])),
    ])  # fmt: skip
    rates = ", ".join(f"{rate:g}" for rate in answer["acceptance_by_rank"])
    ranks = [("acceptance by rank", rates)] * (_RANKS not in document.options)
    headline, *further = re.split(r"(?<=\.) (?=[A-Z])", answer["sentence"])
    return Section(
        kind="Tree",
        about=document.about,
        headline=headline,
        sure=[*further, *_why(rows)],
        charts=[
            Chart("trees", "Tree and chain",
                  "Speed-up of the best tree and of the best chain, the chain's with its "
                  f"{percent()} interval where it is uncertain.",
                  "batch", "times the speed without speculation", dots_of_batches,
                  levels=[Threshold(1.0, "without speculation")], categories=names)
        ],
        tables=[Table("By batch", heads, lines)],
        flags=document.flags,
        export=_EXPORT,
        inputs=[*ranks, *document.inputs],
        command=document.command,
        notes=answer.get("notes") or (),
    )  # fmt: skip
