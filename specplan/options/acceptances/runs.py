"""Accepted lengths of runs: all that were measured, together."""

from dataclasses import dataclass

import click

from specplan.options.kinds import AcceptanceKind, Background, Stated, counted
from specplan.options.runs import Runs


@dataclass(frozen=True)
class Lengths(Runs, AcceptanceKind):
    """The runs."""

    order = 7
    needs = ("runs",)

    def make(self, background: Background) -> Stated:
        from simulator.acceptance.accepted import Accepted

        found = [
            Accepted(run.gamma, run.length, run.rates, run.drafts, run.load.context)
            for run in self.runs or ()
            if run.gamma > 0
        ]
        if not found:
            raise click.UsageError(
                "give the acceptance: a --run beyond gamma 0 with its length, or another option"
            )
        return counted(found, background)
