"""Accepted lengths of runs: all that were measured, together."""

from collections import defaultdict
from dataclasses import dataclass

import click

from specplan.options.kinds import AcceptanceKind, Background, Stated
from specplan.options.runs import Runs


@dataclass(frozen=True)
class Lengths(Runs, AcceptanceKind):
    """The runs."""

    order = 7
    needs = ("runs",)

    def make(self, background: Background) -> Stated:
        from simulator.acceptance.from_lengths import acceptance_of_lengths

        lengths = defaultdict(list)
        for run in self.runs or ():
            if run.gamma > 0:
                lengths[run.load.context, run.gamma].append(run.length)
        if not lengths:
            raise click.UsageError(
                "give the acceptance: a --run beyond gamma 0 with its length, or another option"
            )
        means = {at: sum(each) / len(each) for at, each in lengths.items()}
        return Stated((acceptance_of_lengths(means),), counted=True)
