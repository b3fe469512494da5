"""Scores predicted speed-ups on cards that people own, and what runs of one's own make of them.

    python benchmarks/published_consumer.py

Rows of published_speculation.csv on consumer and workstation cards and on machines of one memory,
each predicted without any row of its source: from nothing else, from the time without drafts, from
another K of the same deployment and load, and from both. Single reports are in no fit, and are
predicted by the fit to all other sources. The fits take two minutes on one core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp
from typing import Any

from published_deployed import impossible
from published_fit import fit
from published_rows import REPORTS, Row, read_rows, read_unfitted
from published_scores import Guess, Score, grouped, of_posterior, without_source
from published_speculation import by_draft, by_engine, table_head, table_row

from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.prior import published_prior
from simulator.cost.fitted.runs import Run

# Beginnings of the names of such cards, as pages have them.
OWNED = ("RTX ", "2x RTX", "GTX", "RX ", "Radeon", "Arc", "Apple", "GB10", "Tesla V100")
EVIDENCE: dict[str, Callable[[Row, Row | None], Sequence[Run]]] = {
    "no run": lambda row, other: [],
    "K = 0": lambda row, other: [row.plain],
    "another K": lambda row, other: [] if other is None else [other.run],
    "K = 0 and another K": lambda row, other: [] if other is None else [row.plain, other.run],
}


def guesses(rows: Sequence[Row], effects: dict[str, dict[str, Any]]) -> dict[str, list[Guess]]:
    """Returns predictions of every row by the runs that are known; without such a run, none."""
    found: dict[str, list[Guess]] = {name: [] for name in EVIDENCE}
    for row in rows:
        prior = published_prior(row.traits, effects=effects[row.owner])
        same = [each for each in rows if each.sweep == row.sweep and each.run != row.run]
        other = min(same, key=lambda each: abs(each.run.gamma - row.run.gamma), default=None)
        for name, evidence in EVIDENCE.items():
            runs = evidence(row, other)
            if runs or name == "no run":
                found[name].append(of_posterior(row, infer(row.machine, prior, runs)))
    return found


def line(name: str, some: Sequence[Guess]) -> str:
    score = Score.of(some)
    errors, inside = (f"{score.mean:.1%}", f"{score.bias:+.1%}"), f"{score.inside:.0%}"
    return table_row(
        (name, str(score.rows), *errors, inside, f"{score.width:.0%}", f"{score.interval:.2f}")
    )


def main() -> None:
    every, _ = read_rows()
    left_out = impossible(every)
    rows = [row for row in every if row.facts["target"] not in left_out]
    cards = [row for row in rows if row.facts["gpu"].startswith(OWNED)]
    owned = [row for row in cards if "RTX PRO" not in row.facts["gpu"]]
    owners = {row.owner for row in owned}
    effects = without_source(rows, only=owners)
    everything = fit(rows)
    reports = read_unfitted(REPORTS)
    effects |= {row.owner: everything for row in reports}
    owned += reports
    found = guesses(owned, effects)
    print(f"{len(owned)} rows of {len(effects)} sources.\n")
    print(table_head(("", "rows", "mean", "bias", "in 90 %", "90 % is ±", "score")))
    for name, some in found.items():
        print(line(f"{name}: all", some))
        for draft, each in grouped(some, by_draft):
            print(line(f"{name}: {draft}", each))
    for name, each in grouped(found["no run"], lambda row: f"{row.facts['gpu']}, {by_engine(row)}"):
        print(line(name, each))
    print("\n" + table_head(("source", "card", "draft", "K", "measured", "predicted", "90 %")))
    for guess in sorted(found["no run"], key=lambda each: -abs(each.error))[:8]:
        facts, ends = guess.row.facts, (guess.low, guess.log, guess.high)
        low, middle, high = (f"{exp(each):.2f}" for each in ends)
        cells = (facts["source"], facts["gpu"], facts["draft"], facts["gamma"])
        print(table_row((*cells, f"{guess.row.speed_up:.2f}", middle, f"{low} to {high}")))


if __name__ == "__main__":
    main()
