"""A draft length left out of published sweeps, as planned from runs of other lengths.

    python benchmarks/runs_of_sweeps.py

Each sweep differs only in K. From the run without speculation and one or two other K, the
speed-up of each remaining K is predicted as `plan --run` does without configurations, its accepted
length given. No prior of public measurements enters; the law of jumps between K is the constant
`JUMPS`. Sweeps of a target with an impossible run are left out. "Without jumps" is the machine that
is linear in K, and whose interval does not grow where runs jump.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from published_deployed import impossible, runs_of
from published_rows import Row, read_rows
from published_scores import Guess, Score, by_source, of_posterior
from published_sweeps import sweeps

from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.posterior import FittedMachine
from simulator.cost.fitted.prior import Prior, vague_prior

MOST_RUNS = 2


def predicted(sweep: dict[int, Row], *, runs: int, jumps: bool) -> list[Guess]:
    """Returns the predictions of each K of a sweep from every choice of so many others."""
    guesses = []
    for evidence in combinations(sweep.values(), runs):
        known = runs_of(evidence)
        prior = vague_prior([run.step_seconds for run in known])
        posterior = infer(FittedMachine(), prior if jumps else _smooth(prior), known)
        guesses += [of_posterior(row, posterior) for row in sweep.values() if row not in evidence]
    return guesses


def _smooth(prior: Prior) -> Prior:
    return replace(prior, jumps=((0.0, 1.0),))


def main() -> None:
    rows, _ = read_rows()
    left_out = impossible(rows)
    kept = [row for row in rows if row.facts["target"] not in left_out]
    published = sweeps(kept)
    print(
        f"{len(published)} sweeps, {len({next(iter(s.values())).owner for s in published})} sources"
    )
    head = ["runs with drafts", "law", "predictions", "in 90 % (bootstrap over sources)"]
    head += ["mean by source", "±", "mean error", "largest miss", "score"]
    print("|", " | ".join(head), "|\n" + "|---" * len(head) + "|")
    for runs in range(1, MOST_RUNS + 1):
        for jumps in (False, True):
            guesses = sum((predicted(s, runs=runs, jumps=jumps) for s in published), list[Guess]())
            score, ends = Score.of(guesses), by_source(guesses)
            by_owner: dict[str, list[bool]] = {guess.row.owner: [] for guess in guesses}
            for guess in guesses:
                by_owner[guess.row.owner].append(guess.inside)
            missed = max((abs(guess.error) for guess in guesses if not guess.inside), default=0.0)
            cells = (
                runs,
                "jumps" if jumps else "without jumps",
                len(guesses),
                f"{score.inside:.0%} ({ends[0][0]:.0%} to {ends[0][1]:.0%})",
                f"{np.mean([np.mean(shares) for shares in by_owner.values()]):.0%}",
                f"{score.width:.1%}",
                f"{score.mean:.1%}",
                f"{missed:.0%}",
                f"{score.interval:.3f}",
            )
            print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    main()
