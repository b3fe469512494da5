"""Scores the predicted gain of speculation against public measurements, and fits its prior.

    python benchmarks/published_speculation.py           # the tables of docs/roofline.md
    python benchmarks/published_speculation.py --fit     # writes the published_prior.json
    python benchmarks/published_speculation.py --figure  # what `specplan figures` draws of it

Every row is predicted from its models, GPU, engine and accepted length by a prior that is fitted
without any row of its source (the owner of the repository), then with one and with two other rows
of its deployment as runs. The fits take three minutes on one core; no model is loaded.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from published_deployed import impossible
from published_fit import KERNELS, fit
from published_rows import Row, over_kernels, read_rows, read_unfitted
from published_scores import (
    Guess,
    Score,
    before,
    by_source,
    chosen_on,
    grouped,
    guess,
    of_posterior,
    with_runs,
    without_source,
)
from published_sweeps import Choice, others, session, sweeps, unaided

from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.prior import FILES, V0, published_prior

ROOT = Path(__file__).parent.parent
FIGURE = ROOT / "figures" / "results" / "published_speculation.json"
WORST = 10
# γ of the table of biases, each of as many rows or more.
GAMMAS, FEW = range(1, 9), 6
HEAD = ("", "rows", "mean", "median", "bias", "sign", "in 90 %", "90 % is ±", "score")


def era(row: Row) -> str:
    """Returns the year, and of vLLM its generation."""
    old = row.traits.engine == "vllm-v0"
    return "vLLM V0 (2024-25)" if old else (row.facts["date"][:4] or "undated")


def by_draft(row: Row) -> str:
    """Returns the kind of draft; an engine that verified by expanding its batch apart."""
    return row.traits.draft + (" (vLLM V0)" if row.traits.engine == "vllm-v0" else "")


def by_engine(row: Row) -> str:
    return row.traits.engine or ""


def line(name: str, guesses: Sequence[Guess]) -> str:
    """Returns a row of a table of scores."""
    score = Score.of(guesses)
    cells = (
        name, str(score.rows), f"{score.mean:.1%}", f"{score.median:.1%}", f"{score.bias:+.1%}",
        f"{score.sign:.0%}", f"{score.inside:.0%}", f"{score.width:.0%}", f"{score.interval:.2f}",
    )  # fmt: skip
    return table_row(cells)


def table_row(cells: Sequence[str]) -> str:
    """Returns a row of a table as pages show it."""
    return re.sub(r"(?<=\d)%", " %", f"| {' | '.join(cells)} |")


def table_head(cells: Sequence[str]) -> str:
    return table_row(cells) + "\n" + "|---" * len(cells) + "|"


def choices(name: str, chosen: Sequence[Choice]) -> str:
    """Returns a row of the table of chosen γ."""
    losses = np.array([each.loss for each in chosen])
    near, runs = np.mean(losses <= 0.02), np.mean([each.runs for each in chosen])
    cells = (name, str(len(chosen)), f"{losses.mean():.1%}", f"{losses.max():.1%}",
             f"{near:.0%}", f"{runs:.1f}")  # fmt: skip
    return table_row(cells)


def scores(rows: Sequence[Row], effects: dict[str, dict[str, Any]]) -> list[str]:
    """Returns the tables of errors: with a prior only, and with runs."""
    guesses = [guess(row, [], effects[row.owner]) for row in rows]
    lines = [table_head(HEAD), line("the roofline alone", [before(row) for row in rows])]
    lines.append(line("all", guesses))
    for name, chosen in (("constants chosen on these sources", True), ("other sources", False)):
        half = [each for each in guesses if chosen_on(each.row.owner) == chosen]
        lines.append(line(name, half))
    for name in (by_draft, by_engine, era, lambda row: row.owner):
        lines += [line(each, group) for each, group in grouped(guesses, name)]
    lines += ["", *spreads(guesses), "", *biases(guesses)]
    generator = np.random.default_rng(0)
    near = {"any load": lambda _, __: True, "own load": lambda a, b: a.run.load == b.run.load}
    for load, eligible in near.items():
        for count in (1, 2):
            lines += ["", f"{count} other row(s) of the deployment as runs, {load}:", ""]
            aided = with_runs(rows, effects, count=count, eligible=eligible, generator=generator)
            lines += [table_head(HEAD), line("all", aided)]
            lines += [line(each, group) for each, group in grouped(aided, by_draft)]
    worst = sorted(guesses, key=lambda each: abs(each.error), reverse=True)
    seen: Counter[tuple[str, ...]] = Counter()
    lines += ["", table_head(("worst of a deployment", "γ", "batch", "measured", "predicted"))]
    for each in worst:
        seen[each.row.server] += 1
        if seen[each.row.server] == 1 and len(seen) <= WORST:
            facts = each.row.facts
            cells = (
                f"{facts['source']}: {facts['target']}, {facts['draft']}",
                facts["gamma"], facts["batch"], f"{each.row.speed_up:.2f}",
                f"{np.exp(each.log):.2f}",
            )  # fmt: skip
            lines.append(table_row(cells))
    return lines


def spreads(guesses: Sequence[Guess]) -> list[str]:
    """Returns a table of coverage, width and score by class, bootstrapped over sources."""
    lines = [table_head(("90 % of a bootstrap over sources", "sources", "in 90 %", "±", "score"))]
    for name, group in [("all", list(guesses)), *grouped(guesses, by_draft)]:
        inside, width, score = by_source(group)
        cells = (name, str(len({each.row.owner for each in group})),
                 f"{inside[0]:.0%} to {inside[1]:.0%}", f"{width[0]:.0%} to {width[1]:.0%}",
                 f"{score[0]:.2f} to {score[1]:.2f}")  # fmt: skip
        lines.append(table_row(cells))
    return lines


def biases(guesses: Sequence[Guess]) -> list[str]:
    """Returns a table of the mean error by class and γ; of γ that FEW rows have or more."""
    lines = [table_head(("mean error at γ of", *map(str, GAMMAS)))]
    for name, group in grouped(guesses, by_draft):
        cells = [name]
        for gamma in GAMMAS:
            errors = [each.error for each in group if each.row.run.gamma == gamma]
            cells.append(f"{np.mean(errors):+.0%} ({len(errors)})" if len(errors) >= FEW else "")
        if any(cells[1:]):
            lines.append(table_row(cells))
    return lines


def kept_out() -> list[str]:
    """Returns a table of the sources that nothing was fitted to or chosen by."""
    rows = read_unfitted()
    guesses = [
        of_posterior(row, infer(row.machine, published_prior(row.traits), [])) for row in rows
    ]
    lines = [table_head(HEAD), line("kept out", guesses)]
    lines += [line(name, group) for name, group in grouped(guesses, lambda row: row.owner)]
    priors = ((row, published_prior(row.traits, over="kernels")) for row in over_kernels(rows))
    measured = [of_posterior(row, infer(row.machine, prior, [])) for row, prior in priors]
    return [*lines, line("over kernels", measured), "", *biases(guesses), "", *biases(measured)]


def choices_of_sweeps(rows: Sequence[Row], effects: dict[str, dict[str, Any]]) -> list[str]:
    """Returns the tables of sweeps: the γ that is chosen, and the other γ's errors."""
    found = sweeps(rows)
    own = [effects[next(iter(each.values())).owner] for each in found]
    pairs = list(zip(found, own, strict=True))
    head = ("γ of a sweep", "sweeps", "mean loss", "largest", "within 2 %", "further runs")
    lines = [table_head(head)]
    for name, least in (("", 0), (", 4 γ or more", 4)):
        some = [(sweep, effect) for sweep, effect in pairs if len(sweep) >= least]
        alone = [unaided(sweep, effect) for sweep, effect in some]
        lines.append(choices(f"best mean, no run, lengths given{name}", [a for a, _ in alone]))
        lines.append(choices(f"named, no run, lengths given{name}", [b for _, b in alone]))
        sessions = [session(sweep, effect) for sweep, effect in some]
        lines.append(choices(f"runs as advised, lengths unknown{name}", sessions))
        if least:
            continue
        kinds = [by_draft(next(iter(sweep.values()))) for sweep, _ in some]
        for kind in sorted(set(kinds)):
            of_kind = [b for each, (_, b) in zip(kinds, alone, strict=True) if each == kind]
            lines.append(choices(f"named, no run, lengths given: {kind}", of_kind))
    lines += ["", table_head(HEAD)]
    for count in (1, 2):
        rest = [each for sweep, effect in pairs for each in others(sweep, effect, runs=count)]
        lines.append(line(f"other γ of a sweep, from a baseline and {count}", rest))
        lines += [line(f"{count}: {each}", group) for each, group in grouped(rest, by_draft)]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true", help="fit the prior to all rows")
    parser.add_argument("--figure", action="store_true", help="write what the figure draws")
    arguments = parser.parse_args()
    rows, rest = read_rows()
    left_out = impossible(rows)
    kept = [row for row in rows if row.facts["target"] not in left_out]
    if arguments.fit:
        FILES["roofline"].write_text(written(fit(kept)), encoding="utf-8")
        measured = [row for row in over_kernels(kept) if row.traits.engine != V0]
        if measured:
            FILES["kernels"].write_text(written(fit(measured, KERNELS)), encoding="utf-8")
        return
    effects = without_source(kept)
    if arguments.figure:
        FIGURE.write_text(json.dumps(points(kept, effects)) + "\n", encoding="utf-8")
        return
    print(f"{len(rows) + len(rest)} rows, {len(rest)} of them without length, γ, batch or shapes;")
    print(
        f"{len(rows) - len(kept)} gain more than their length ({', '.join(left_out)}): in no fit.\n"
    )
    print("\n".join([*scores(kept, effects), "", *choices_of_sweeps(kept, effects)]))
    print("\nSources kept out of every fit, by the fit to all others:\n")
    print("\n".join(kept_out()))


def points(rows: Sequence[Row], effects: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Returns every row as measured, as predicted, and as the roofline predicts without a prior."""
    return {
        "draft": [by_draft(row) for row in rows],
        "measured": [round(row.speed_up, 4) for row in rows],
        "predicted": [round(float(np.exp(guess(row, [], effects[row.owner]).log)), 4)
                      for row in rows],
        "before": [round(float(np.exp(before(row).log)), 4) for row in rows],
    }  # fmt: skip


def written(fitted: dict[str, Any]) -> str:
    """Returns the prior as JSON, a line for each name."""
    parts = []
    for name, value in fitted.items():
        if isinstance(value, dict):
            inside = ",\n".join(f"  {json.dumps(key)}: {json.dumps(v)}" for key, v in value.items())
            parts.append(f" {json.dumps(name)}: {{\n{inside}\n }}")
        elif name == "covariance":
            inside = ",\n".join(f"  {json.dumps(row)}" for row in value)
            parts.append(f" {json.dumps(name)}: [\n{inside}\n ]")
        else:
            parts.append(f" {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
