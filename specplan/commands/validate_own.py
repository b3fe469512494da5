"""`specplan validate` by its own decoder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import click

from estimator.validation.file import SPECULATIVE, Validated, validation_json
from estimator.validation.request import Validate, validations
from estimator.validation.summary import summary
from specplan.reports.bar import Bar
from specplan.reports.output import answer
from specplan.reports.validation import rows_table, summary_lines


@dataclass(frozen=True, slots=True)
class Shown:
    """How rows are given; see each option's help."""

    wide: bool = False
    figure: Path | None = None
    output: Path | None = None
    as_json: bool = False


def validate_own(request: Validate, form: Shown) -> None:
    """Compares predicted with measured speed-up; rows appear as they are measured."""
    if form.figure is not None and not request.replayed:
        raise ValueError("figure needs a row that replay predicts: a fixed gamma, and no lenience")
    found = []
    with Bar("validate", "run") as bar:
        for validation in validations(request, bar):
            found.append(validation)
            if not form.as_json:
                bar.print(rows_table(validation, wide=form.wide) + "\n")
    rows = [row for validation in found for row in validation.rows]
    means = summary(found)
    answer(
        validation_json(SPECULATIVE, rows, summary=asdict(means)),
        lambda: summary_lines(means, found),
        form=form,
    )
    if form.figure is not None:
        from figures.beyond_papers.predicted_measured import save

        save(Validated("this validation", SPECULATIVE, tuple(rows)), form.figure)
        click.echo(f"Wrote {form.figure}", err=True)
