"""Acceptance from the accepted lengths of all runs."""

import click

from specplan.options.kinds import AcceptanceKind, Background, Stated, counted
from specplan.options.runs import Runs, counts_of


class Lengths(Runs, AcceptanceKind):
    """Runs with accepted lengths; see the option's help."""

    order = 7
    needs = ("runs",)

    def make(self, background: Background) -> Stated:
        found = counts_of(self.runs or ())
        if not found:
            raise click.UsageError(
                "give the acceptance: a --run beyond gamma 0 with its length, or another option"
            )
        return counted(found, background)
