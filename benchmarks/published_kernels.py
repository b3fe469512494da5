"""Compares the roofline, its prior and measured kernels on public measurements that all cover.

    python benchmarks/published_kernels.py

Rows are those whose GPU, server and formats have measured kernels (vLLM V0 left
out). Each is predicted without any row of its source. Tables: the time of a step without drafts,
the speed-up with its 90 % interval, the speed lost by the named K, and the worst rows. The fits
take a minute on one core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from published_calibration import calibration
from published_deployed import impossible
from published_fit import KERNELS, fit
from published_rows import COMPARED, Row, over_kernels, read_rows, read_unfitted
from published_scores import (
    Guess,
    Score,
    before,
    by_source,
    grouped,
    guess,
    plain_step,
    with_runs,
    without_source,
)
from published_speculation import by_draft, by_engine, table_head, table_row
from published_sweeps import sweeps

WORST = 8
FIRST_GAMMA = 3


def stated(row: Row) -> str:
    """Returns which of GPUs, server version and tokens in the cache a row's page states."""
    facts = row.facts
    if not (facts["tp"] and facts["version"]):
        return "GPUs or version not stated"
    return "all stated" if facts["context"] or facts["prompt"] else "GPUs and version stated"


def by_target(row: Row) -> str:
    """Returns the kind of target, and whether several GPUs share it."""
    kind = "a mixture" if row.traits.mixture else "a dense target"
    return f"{kind}, {'several GPUs' if row.traits.several else 'one GPU'}"


def by_gamma(row: Row) -> str:
    return f"K {row.run.gamma}"


def quality(name: str, guesses: Sequence[Guess]) -> str:
    """Returns a row of a table: errors, and the interval with its bootstrap over sources."""
    score, (low, high) = Score.of(guesses), by_source(guesses)[0]
    cells = (name, str(score.rows), f"{score.mean:.1%}", f"{score.median:.1%}",
             f"{score.bias:+.1%}", f"{score.inside:.0%} ({low:.0%} to {high:.0%})",
             f"{score.width:.0%}", f"{score.interval:.2f}")  # fmt: skip
    return table_row(cells)


def tables(title: str, by_model: dict[str, list[Guess]]) -> list[str]:
    """Returns a table of several models on the same rows: all, by kind of draft, by source."""
    head = (title, "rows", "mean", "median", "bias", "in 90 % (bootstrap)", "90 % is ±", "score")
    lines = [table_head(head)]
    for name, guesses in by_model.items():
        lines.append(quality(f"{name}: all", guesses))
        for key in (by_target, by_gamma, stated, by_draft, lambda row: row.owner):
            lines += [quality(f"{name}: {each}", some) for each, some in grouped(guesses, key)]
    return [*lines, ""]


def after_one_run(rows: Sequence[Row], effects: dict[str, dict[str, Any]]) -> list[Guess]:
    """Returns predictions from one other row of the deployment with the same load."""
    return with_runs(
        rows,
        effects,
        count=1,
        eligible=lambda one, other: one.run.load == other.run.load,
        generator=np.random.default_rng(0),
    )


def losses(rows: Sequence[Row], effects: dict[str, dict[str, Any]]) -> dict[str, list[float]]:
    """Returns the share of speed lost by source: the best median and always K = 3."""
    found: dict[str, list[float]] = {"named": [], "always K = 3": []}
    owners: list[str] = []
    for sweep in sweeps(rows):
        speeds = {gamma: row.speed_up for gamma, row in sweep.items()}
        best = max(1.0, *speeds.values())
        logs = {gamma: guess(row, [], effects[row.owner]).log for gamma, row in sweep.items()}
        top = max(logs, key=lambda gamma: logs[gamma])
        near = min(speeds, key=lambda gamma: abs(gamma - FIRST_GAMMA))
        found["named"].append(1 - (speeds[top] if logs[top] > 0 else 1.0) / best)
        found["always K = 3"].append(1 - speeds[near] / best)
        owners.append(next(iter(sweep.values())).owner)
    for name in tuple(found):
        means = [
            float(np.mean([x for x, each in zip(found[name], owners, strict=True) if each == own]))
            for own in set(owners)
        ]
        found[f"{name}, by source"] = means
    return found


def compared(effects: dict[str, Any]) -> list[str]:
    """Returns a table of the sources that kernels are compared with and no fit has seen."""
    rows = over_kernels(read_unfitted(COMPARED))
    steps = [plain_step(row, effects) for row in rows if row.run.gamma == 1]
    gains = [guess(row, [], effects) for row in rows]
    head = ("in no fit", "rows", "mean", "median", "bias", "in 90 % (bootstrap)", "90 % is ±")
    lines = [table_head((*head, "score")), quality("step without drafts", steps)]
    for name, guesses in (("speed-up", gains), *grouped(gains, by_gamma)):
        lines.append(quality(name, guesses))
    return [*lines, ""]


def main() -> None:
    every, _ = read_rows()
    left_out = impossible(every)
    every = [row for row in every if row.facts["target"] not in left_out]
    measured = over_kernels(every)
    if not measured:
        print("No row is covered.")
        return
    numbers = {id(row.facts) for row in measured}
    same = [row for row in every if id(row.facts) in numbers]
    prior, kernels = without_source(every), without_source(measured, KERNELS)
    print(f"{len(measured)} of {len(every)} rows have measured kernels.\n")
    steps = {
        "prior": [plain_step(row, prior[row.owner]) for row in same],
        "kernels": [plain_step(row, kernels[row.owner]) for row in measured],
    }
    gains = {
        "roofline": [before(row) for row in same],
        "prior": [guess(row, [], prior[row.owner]) for row in same],
        "kernels": [guess(row, [], kernels[row.owner]) for row in measured],
    }
    print("\n".join(tables("step without drafts", steps)))
    print("\n".join(tables("speed-up", gains)))
    classes = {"": by_target, "engine: ": by_engine, "draft: ": by_draft}
    for title, by_model in (("step without drafts", steps), ("speed-up", gains)):
        for model in ("prior", "kernels"):
            print("\n".join(calibration(f"{title}, {model}", by_model[model], classes)))
    print("\n".join(tables("speed-up after one run at the own load", {
        "prior": after_one_run(same, prior), "kernels": after_one_run(measured, kernels),
    })))  # fmt: skip
    print("\n".join(compared(fit(measured, KERNELS))))
    print(table_head(("K of a sweep, lengths given", "sweeps", "mean loss", "largest")))
    for model, rows, effects in (("prior", same, prior), ("kernels", measured, kernels)):
        for name, lost in losses(rows, effects).items():
            cells = (f"{model}: {name}", str(len(lost)), f"{np.mean(lost):.1%}", f"{max(lost):.1%}")
            print(table_row(cells))
    print("\n" + table_head(("worst rows of kernels", "K", "batch", "measured", "predicted")))
    seen: set[tuple[str, ...]] = set()
    for each in sorted(gains["kernels"], key=lambda each: -abs(each.error)):
        if each.row.server in seen or len(seen) == WORST:
            continue
        seen.add(each.row.server)
        facts = each.row.facts
        names = f"{facts['source']}: {facts['target']}, {facts['format']}, {facts['gpu']}"
        values = (f"{np.exp(each.measured):.2f}", f"{np.exp(each.log):.2f}")
        print(table_row((names, facts["gamma"], facts["batch"], *values)))


if __name__ == "__main__":
    main()
