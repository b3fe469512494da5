"""Where speculation ceases to pay in published batch sweeps, as measured and as predicted.

    python benchmarks/published_crossings.py

A sweep has rows of one server, traffic and γ at three batch sizes or more. The last of its batches
at which speculation gains is read off the measured speed-ups, and off the predicted ones: by the
prior without any row of the source, and with the row of the smallest batch as a run. Accepted
lengths are given. The fits take three minutes on one core.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from published_rows import Row, read_rows
from published_scores import guess, without_source

LEAST_BATCHES = 3


@dataclass(frozen=True)
class Sweep:
    """A sweep by batch, and how many of its batches gain: the first so many.

    rows: ascending by batch.
    measured, predicted, after_run: the number of batches before the first that loses.
    """

    rows: Sequence[Row]
    measured: int
    predicted: int
    after_run: int

    def edge(self, gaining: int) -> str:
        """Returns between which batches speculation ceases to pay."""
        batches = [row.run.load.batch for row in self.rows]
        if gaining == 0:
            return f"below {batches[0]}"
        if gaining == len(batches):
            return f"above {batches[-1]}"
        return f"{batches[gaining - 1]} to {batches[gaining]}"


def gaining(logs: Sequence[float]) -> int:
    """Returns how many speed-ups come before the first loss."""
    losing = np.flatnonzero(np.asarray(logs) <= 0)
    return int(losing[0]) if len(losing) > 0 else len(logs)


def batch_sweeps(rows: Sequence[Row]) -> list[list[Row]]:
    """Returns rows that differ only in batch, ascending."""
    groups: dict[Any, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        traffic = tuple(row.facts[name] for name in ("dataset", "context", "prompt", "output"))
        key = (*row.server, *traffic, row.run.gamma, row.facts["width"], row.facts["temperature"])
        groups[key].setdefault(row.run.load.batch, row)
    found = [[group[batch] for batch in sorted(group)] for group in groups.values()]
    return [each for each in found if len(each) >= LEAST_BATCHES]


def sweep_of(rows: Sequence[Row], effects: dict[str, Any]) -> Sweep:
    """Returns a sweep with its predictions."""
    return Sweep(
        rows,
        gaining([float(np.log(row.speed_up)) for row in rows]),
        gaining([guess(row, [], effects).log for row in rows]),
        gaining([guess(row, [rows[0]], effects).log for row in rows]),
    )


def main() -> None:
    rows, _ = read_rows()
    groups = batch_sweeps(rows)
    effects = without_source(rows)
    sweeps = [sweep_of(group, effects[group[0].owner]) for group in groups]
    crossing = [each for each in sweeps if 0 < each.measured < len(each.rows)]
    print("| source | target | draft | γ | batches | measured | predicted | with one run |")
    print("|---" * 8 + "|")
    for each in crossing:
        first = each.rows[0]
        batches = ", ".join(str(row.run.load.batch) for row in each.rows)
        edges = (each.edge(n) for n in (each.measured, each.predicted, each.after_run))
        print(
            f"| {first.owner} | {first.facts['shape']} | {first.facts['kind']} | {first.run.gamma} "
            f"| {batches} | {' | '.join(edges)} |"
        )
    for name, group in (("all sweeps", sweeps), ("those that cross", crossing)):
        for way in ("predicted", "after_run"):
            off = np.array([abs(getattr(each, way) - each.measured) for each in group])
            print(
                f"{name}, {way}: {len(off)}; right {(off == 0).mean():.0%}, within one step "
                f"{(off <= 1).mean():.0%}"
            )


if __name__ == "__main__":
    main()
