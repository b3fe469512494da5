"""Runs `specplan measure`: on specplan's own decoder, on an engine, or on recorded texts."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr
from typing import TYPE_CHECKING

import click

from engines.trials.request import MeasureEngine
from estimator.profiles.request import Measure
from estimator.texts.counting import MeasureTexts
from specplan.reports.bar import Bar, Kept
from specplan.reports.errors import describe
from specplan.reports.output import Written, warn
from specplan.reports.profile import print_profile, texts_profile

if TYPE_CHECKING:
    from estimator.timing.processes import Processes


def own(request: Measure, form: Written) -> None:
    """Measures a pair with specplan's own decoder."""
    from estimator.profiles.measure import measure

    kept = Kept(form.output if request.kept is not None else None)
    with kept.told(), Bar("measure", "run") as bar:
        profile = measure(request, bar, traced=kept, refusing=refusing_together)
    if profile is not None:
        print_profile(profile, form)


def on_engine(request: MeasureEngine, form: Written) -> None:
    """Measures the acceptance and the times of an engine."""
    from engines.trials.measurement import measure
    from specplan.reports.engines import measurement_notes

    with Bar("measure", "text") as bar:
        profile, line_error = measure(request, bar)
    print_profile(profile, form, notes=measurement_notes(request, line_error))


def texts(request: MeasureTexts, form: Written) -> None:
    """Measures how many tokens of recorded texts a copying draft would get accepted."""
    from estimator.texts.measure import measure

    with Bar("measure", "part") as bar:
        profile, counts = measure(request, bar)
    if counts.skipped:
        warn(f"{counts.skipped} lines left out, the first: {counts.first_skipped}")
    print_profile(profile, form, text=texts_profile)


@contextmanager
def refusing_together(processes: Processes) -> Iterator[None]:
    """Ends all processes if one of them rejects its input, and prints the reason in one line.

    Only the first process prints warnings. A single process raises its errors as usual. All
    processes must enter this context, and must not communicate inside.
    """
    if processes.count == 1:
        yield
        return
    said: tuple[str, int] | None = None
    with nullcontext() if processes.first else redirect_stderr(io.StringIO()):
        try:
            yield
        except (click.ClickException, ValueError, OSError) as error:
            said = describe(error)
    every = processes.gathered(said)
    refused = [(number, *each) for number, each in enumerate(every) if each is not None]
    if not refused:
        return
    number, message, status = refused[0]
    if processes.first:
        where = "" if number == 0 else f"process {number}: "
        click.echo(f"Error: {where}{' '.join(message.split())}", err=True)
    # Launchers stop all processes when one ends, so the message is printed before any ends.
    processes.gathered(None)
    raise click.exceptions.Exit(status)
