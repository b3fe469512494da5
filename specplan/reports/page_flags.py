"""Flags on pages of answers whose server is named by --engine, and not by --export."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby

from engines.kind import Drafted, names_of
from estimator.progress import heard
from simulator.choice.plan import Plan
from simulator.traffic.answer import Traffic
from simulator.traffic.pair import Pair
from specplan.reports.draft_labels import UNNAMED, DraftLabels
from specplan.reports.first_runs import cautious
from specplan.reports.flags import export, export_schedule, flags_of_plans
from specplan.reports.replica_flags import SLOTS


def flags_of_machines(rows: Sequence[Plan], drafter: DraftLabels, server: str) -> dict[str, str]:
    """Returns the server's flags by machine; empty if it has no flags for it.

    Notes are comments above the flags. Machines of one set of flags have a single entry, which has
    only the server's name.
    """
    named, notes = dict[str, str](), list[str]()
    for name, some in groupby(rows, key=_machine):
        notes.clear()
        with suppress(ValueError), heard(lambda note, _: notes.append(f"# {note}\n")):
            named[f"{server}, {name}"] = flags_of_plans(tuple(some), drafter, server=server)
            named[f"{server}, {name}"] = "".join(notes) + named[f"{server}, {name}"]
    alike = set(named.values())
    return {server: alike.pop()} if len(alike) == 1 else named


def _machine(row: Plan) -> str:
    load = row.setting.load
    return "" if load is None else f"{load.gpu}, TP {load.tp}"


def flags_under_load(
    traffic: Traffic, pair: Pair, drafter: DraftLabels, kind: str, server: str
) -> str | None:
    """Returns the flags with which a server drafts as its traffic advises; None: it cannot.

    A server without schedules gets the flags of each rate's draft length.

    kind: the kind of draft as the costs name it, unless `drafter` names one.
    """
    draft, limit = Drafted(drafter.model or UNNAMED, drafter.kind or kind), SLOTS.get(server)
    rates: dict[int, list[str]] = {}
    for row in traffic.rows:
        if row.advice is not None:
            rates.setdefault(row.gamma, []).append(f"{row.rate:g}")
    gammas = {part.gamma for part in traffic.schedule}
    to_run = traffic.to_run * (traffic.undecided and any(gammas))
    first = {0: [*to_run, 0] * bool(to_run)}
    if server not in names_of(lambda engine: engine.exports):
        return None

    def fixed(gamma: int) -> str:
        slots = pair.server(gamma).slots
        most = f"{limit} {slots}\n" * (limit is not None and gamma > 0)
        return most + export(server, gamma=gamma, draft=draft)

    try:
        if len(gammas) > 1:
            with suppress(ValueError):
                flags = export_schedule(server, traffic.schedule, draft=draft)
                most = f"{limit} {traffic.schedule[-1].last_batch}\n" * (limit is not None)
                runs = [
                    f"# The run of K = {gamma} (keep these flags if it confirms the gain):\n"
                    + fixed(gamma)
                    for gamma in to_run
                ]
                after = "# Only if runs confirm it and the load changes, K by batch:\n" * bool(runs)
                return cautious("\n".join([*runs, after + most + flags]), first)
        at_rates = rates if len(gammas) > 1 else {gamma: [] for gamma in gammas}
        parts = [
            f"# at {', '.join(at)} requests/s:\n" * bool(at) + fixed(gamma)
            for gamma, at in at_rates.items()
        ]
    except ValueError:
        return None
    return cautious("\n".join(parts), first)
