"""Replays published sweeps as tunings, and measures what the search loses against the best gamma.

    python benchmarks/tune_published.py

Each sweep is searched from a prior that is fitted without any row of its source (the owner of the
repository), as `specplan tune` would with the deployment known.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from published_deployed import impossible, runs_of
from published_fit import fit
from published_rows import Row, read_rows
from published_sweeps import Choice, sweeps

from engines.tuning.outlook import Outlook
from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.prior import published_prior
from simulator.cost.fitted.runs import LoadPoint, Run


def session(sweep: dict[int, Row], effects: dict[str, Any], worth: float) -> Choice:
    """Returns what a tuning finds that can only run the gammas of a published sweep."""
    first = next(iter(sweep.values()))
    longest = max(sweep)

    def costs(runs: Sequence[Run], _load: LoadPoint) -> Posterior:
        return infer(first.machine, published_prior(first.traits, effects=effects), runs)

    runs: list[Run] = []
    tried: list[int] = []
    while True:
        now = Outlook(runs, first.run.load, longest=longest, worth=worth, costs=costs)
        wanted = now.next_gamma
        if wanted is None or len(tried) == len(sweep):
            break
        # Where nobody ran a gamma, the nearest one that was published and not yet run.
        left = [gamma for gamma in sweep if gamma not in tried]
        tried.append(min((abs(gamma - wanted), gamma) for gamma in left)[1])
        runs = runs_of([sweep[gamma] for gamma in tried])
    wanted = now.advice.gamma
    advised = min(tried, key=lambda gamma: abs(gamma - wanted)) if wanted > 0 else 0
    return Choice(sweep, advised, len(tried) - 1)


def main() -> None:
    """Prints what tunings of published sweeps lose, and their runs, by kind of draft."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worth", type=float, default=0.2, help="per cent, as specplan tune has")
    worth = parser.parse_args().worth / 100
    rows, _ = read_rows()
    kept = [row for row in rows if row.facts["target"] not in impossible(rows)]
    choices: dict[str, list[Choice]] = defaultdict(list)
    fitted: dict[str, dict[str, Any]] = {}
    for sweep in sweeps(kept):
        first = next(iter(sweep.values()))
        if first.owner not in fitted:
            fitted[first.owner] = fit([row for row in rows if row.owner != first.owner])
        chosen = session(sweep, fitted[first.owner], worth)
        for name in ("all", *(["4 gammas or more"] if len(sweep) > 3 else []), first.traits.draft):
            choices[name].append(chosen)
    print("| sweeps of | number | mean loss | largest | further runs |\n|---|---|---|---|---|")
    for name, kind in choices.items():
        losses = [one.loss for one in kind]
        print(f"| {name} | {len(kind)} | {100 * np.mean(losses):.2f} % | {100 * max(losses):.1f} % "
              f"| {np.mean([one.runs for one in kind]):.2f} |")  # fmt: skip


if __name__ == "__main__":
    main()
