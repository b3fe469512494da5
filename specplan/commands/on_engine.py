"""Runs `validate` and `measure` on an engine that others wrote (--engine)."""

from dataclasses import dataclass

from engines.trials.measurement import measure
from engines.trials.request import MeasureEngine, ValidateEngine
from engines.trials.validation import validate
from specplan.reports.bar import Bar
from specplan.reports.engines import measurement_notes, validation_data, validation_text
from specplan.reports.output import Written, answer
from specplan.reports.profile import print_profile


@dataclass(frozen=True)
class ShownRows(Written):
    """How a validation is given; see the option's help."""

    wide: bool = False


def validate_on_engine(request: ValidateEngine, form: ShownRows) -> None:
    """Compares predicted with measured decoding on an engine, and audits what it accepts."""
    with Bar("validate", "text") as bar:
        found = validate(request, bar)
    answer(validation_data(found), lambda: validation_text(found, wide=form.wide), form=form)


def measure_on_engine(request: MeasureEngine, form: Written) -> None:
    """Measures acceptance and prices on an engine, into a profile that plans read."""
    with Bar("measure", "text") as bar:
        found = measure(request, bar)
    print_profile(found.profile, form, notes=measurement_notes(found))
