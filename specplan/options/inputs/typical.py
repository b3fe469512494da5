"""`--typical`: published accepted lengths, a start before any measurement."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from specplan.options.command import option
from specplan.options.kinds import AcceptanceKind, Made, Server
from specplan.options.values import listing, near

# From the table's kinds of draft to the kinds that laws of acceptance know.
DRAFT_CLASSES = {"EAGLE-3": "EAGLE", "MTP": "MTP", "DSpark": "block"}


@dataclass(frozen=True, slots=True)
class Typical:
    """Acceptance that a source published for a draft, its target and a workload.

    lengths: tokens per target call, by gamma.
    """

    name: str
    kind: str
    draft: str
    target: str
    workload: str
    lengths: Mapping[int, float]
    source: str
    date: str


@cache
def typical() -> Mapping[str, Typical]:
    """Returns all published acceptances, by name."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        gammas, lengths = row.pop("gammas").split("/"), row.pop("lengths").split("/")
        by_gamma = {int(g): float(length) for g, length in zip(gammas, lengths, strict=True)}
        found[row["name"]] = Typical(**row, lengths=by_gamma)
    return found


def _complete(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [
        CompletionItem(each.name, help=f"{each.target}, {each.workload}")
        for each in typical().values()
        if each.name.startswith(incomplete)
    ]


@dataclass(frozen=True)
class Published(AcceptanceKind, order=6, needs=("typical",)):
    """The name of a published acceptance.

    typical: Published accepted lengths, or list. Such as eagle3-llama-3.1-8b-chat, to begin with:
      yours will differ.
    """

    typical: str = option(
        metavar="NAME", shell_complete=_complete, callback=listing(lambda: typical())
    )

    def make(self, draft_kind: str | None, server: Server) -> Made:
        from simulator.acceptance.accepted import Accepted
        from simulator.acceptance.from_counts import from_counts
        from simulator.acceptance.rate_prior import workload_spread
        from specplan.reports.plan import Origin

        chosen = typical().get(self.typical)
        if chosen is None:
            known, hint = ", ".join(typical()), near(self.typical, typical())
            raise ValueError(f"--typical must be one of {known}, got {self.typical!r}{hint}")
        lengths = ", ".join(f"{length:g} at gamma {g}" for g, length in chosen.lengths.items())
        note = (
            f"Typical: {chosen.kind} draft {chosen.draft} for {chosen.target} on "
            f"{chosen.workload}, {lengths} tokens per target call, published by {chosen.source} "
            f"({chosen.date}). Yours will differ: measure or observe it."
        )
        counts = [Accepted(gamma, length) for gamma, length in chosen.lengths.items()]
        kind = DRAFT_CLASSES[chosen.kind] if draft_kind is None else draft_kind
        found = from_counts(counts, kind=kind, elsewhere=workload_spread())
        return (found,), Origin(counted=True, notes=(note,))
