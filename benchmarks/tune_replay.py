"""Replays tunings on the sweeps of benchmarks/tune.py: one pass is searched, the other one judges.

    python benchmarks/tune_replay.py results.json [more.json] --worth 0.2

Only the gammas of the sweep can be run: where another one is wanted, the nearest one that has not
run yet. The fastest gamma of the searched pass is the one to compare with.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from tune_loss import Swept

from engines.tuning.outlook import Outlook
from engines.tuning.tuned import Tuned, TunedRun
from simulator.cost.fitted.runs import LoadPoint

CONTEXT, LONGEST, MOST_RUNS = 200, 16, 6


def searched(rows: list[dict[str, Any]], setup: tuple[float, int, bool], worth: float) -> list[int]:
    """Returns the gamma that a tuning ends with, then all that it ran; setup: see `replayed`."""
    temperature, load, together = setup
    left = {row["gamma"]: msgspec.convert(row, TunedRun) for row in rows}
    tuned = Tuned(setup={"temperature": temperature}, context=CONTEXT, together=together)
    tuned, tried = tuned.adding(left.pop(0)), list[int]()
    while True:
        now = Outlook(tuned.runs(), LoadPoint(CONTEXT, load), longest=LONGEST, worth=worth)
        wanted = now.next_gamma
        if wanted is None or not left or len(tried) == MOST_RUNS:
            break
        nearest = min(left, key=lambda gamma: (abs(gamma - wanted), gamma))
        if any(abs(gamma - wanted) < abs(nearest - wanted) for gamma in tried):
            break
        tried.append(nearest)
        tuned = tuned.adding(left.pop(nearest))
    wanted = now.advice.gamma
    return [min(tried, key=lambda gamma: abs(gamma - wanted)) if wanted > 0 else 0, *tried]


def replayed(key: str, result: dict[str, Any], worth: float) -> list[tuple[float, int]]:
    """Returns the share of speed lost, and the runs, for each pass that is searched."""
    *_, temperature, load = key.split("|")
    setup = (float(temperature), int(load), len(result["sweep"]["passes"]) > 1)
    passes = [
        [row for row in rows if row["concurrency"] == setup[1]]
        for rows in result["sweep"]["passes"]
    ]
    if not setup[2]:
        passes = [[{**row, "turns": row["turns"][at::2]} for row in passes[0]] for at in (0, 1)]
    losses = []
    for first, other in (passes, passes[::-1]):
        gamma, *tried = searched(first, setup, worth)
        seen, judged = (
            Swept(turns, drawn=setup[0] > 0, together=setup[2]) for turns in (first, other)
        )
        best, times = int(seen.token_logs(None).argmin()), judged.token_logs(None)
        losses.append((1 - np.exp(times[best] - times[judged.gammas.index(gamma)]), len(tried)))
    return losses


def main() -> None:
    """Prints the mean loss and the mean number of runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--worth", type=float, default=0.2, help="per cent, as specplan tune has")
    given = parser.parse_args()
    settings = [item for path in given.paths for item in json.loads(path.read_text()).items()]
    outcomes = [outcome for item in settings for outcome in replayed(*item, given.worth / 100)]
    losses, runs = zip(*outcomes, strict=True)
    print(f"{len(outcomes)} passes: mean loss {100 * np.mean(losses):.2f} %, largest "
          f"{100 * max(losses):.1f} %, runs {np.mean(runs):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
