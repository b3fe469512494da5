"""What `validate` and `measure` do with --engine: runs on an engine that others wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from engines.trials.measurement import measure
from engines.trials.request import MeasureEngine, ValidateEngine
from engines.trials.validation import validate
from specplan.reports.bar import Bar
from specplan.reports.engines import measurement_notes, validation_data, validation_text
from specplan.reports.output import answer, folded, print_json
from specplan.reports.profile import profile_text


@dataclass(frozen=True, slots=True)
class ShownRows:
    """How a validation is given; see each option's help."""

    wide: bool
    output: Path | None
    as_json: bool


@dataclass(frozen=True, slots=True)
class ShownProfile:
    """How a profile is given; see each option's help."""

    output: Path | None
    as_json: bool


def validate_on_engine(request: ValidateEngine, form: ShownRows) -> None:
    """Compares predicted with measured decoding on an engine, and audits what it accepts."""
    with Bar("validate", "text") as bar:
        found = validate(request, bar)
    answer(validation_data(found), lambda: validation_text(found, wide=form.wide), form=form)


def measure_on_engine(request: MeasureEngine, form: ShownProfile) -> None:
    """Measures acceptance and prices on an engine, into a profile that plans read."""
    from estimator.profiles.profile_file import profile_json

    with Bar("measure", "text") as bar:
        found = measure(request, bar)
    if form.as_json:
        print_json(profile_json(found.profile))
        return
    click.echo(folded(profile_text(found.profile)))
    click.echo(measurement_notes(found))
    if form.output is not None:
        click.echo(f"\nWrote {form.output}; plan with it: specplan plan --profile {form.output}")
