"""Runs `specplan validate`: on specplan's own decoder, on an engine, or for BiLD."""

from dataclasses import dataclass
from pathlib import Path

import click

from engines.trials.request import ValidateEngine
from estimator.validation.file import BILD, SPECULATIVE, Validated, validation_json
from estimator.validation.request import Validate, validations
from estimator.validation.validation import summary
from specplan.reports.bar import Bar
from specplan.reports.bild import report
from specplan.reports.output import Written, answer
from specplan.reports.validation import rows_table, summary_lines
from studies.bild.request import ValidateBild, validate_thresholds
from studies.bild.swept import fewest_repeats, worst_precision


@dataclass(frozen=True)
class EngineForm(Written):
    """The form of an engine's rows; see the option's help."""

    wide: bool = False


@dataclass(frozen=True)
class ValidateForm(EngineForm):
    """The form of the own decoder's rows; see each option's help."""

    figure: Path | None = None


def speculative(request: Validate, form: ValidateForm) -> None:
    """Compares predicted with measured speed-up, and prints each row as it is measured."""
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
    document = validation_json(SPECULATIVE, rows, summary=means)
    answer(document, lambda: summary_lines(means, found), form=form)
    if form.figure is not None:
        from figures.ours.predicted_measured import save

        save(Validated("this validation", SPECULATIVE, tuple(rows)), form.figure)
        click.echo(f"Wrote {form.figure}", err=True)


def on_engine(request: ValidateEngine, form: EngineForm) -> None:
    """Compares predicted with measured decoding on an engine, and checks its accepted lengths."""
    from engines.trials.validation import validate
    from specplan.reports.engines import validation_data, validation_text

    with Bar("validate", "text") as bar:
        found = validate(request, bar)
    answer(validation_data(found), lambda: validation_text(found, wide=form.wide), form=form)


def bild(request: ValidateBild, form: Written) -> None:
    """Prints a sweep of BiLD's thresholds, for each draft and each temperature."""
    with Bar("validate", "run") as bar:
        sweeps, threads = validate_thresholds(request, bar)
    grid = request.grid
    document = validation_json(
        BILD,
        [row for each in sweeps for row in each.rows],
        certainty=grid.certainty,
        distance=grid.distance,
        most=grid.most,
        summaries=[each.summary() for each in sweeps],
        prompts=sweeps[0].prompts,
        repeats=fewest_repeats(sweeps),
        precision_percent=worst_precision(sweeps),
        threads=threads.count,
        free_cores=threads.free,
        top_p=request.sampling.top_p,
    )
    answer(document, lambda: report(sweeps, threads), form=form)
