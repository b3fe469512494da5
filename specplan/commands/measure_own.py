"""`specplan measure` by its own decoder."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr

import click

from estimator.profiles.measure import measure
from estimator.profiles.request import Measure
from estimator.timing.processes import Processes
from specplan.reports.bar import Bar, Kept
from specplan.reports.errors import describe
from specplan.reports.output import Written
from specplan.reports.profile import print_profile


def measure_own(request: Measure, form: Written) -> None:
    """Measures a pair into a profile that plans read."""
    kept = Kept(form.output if request.kept is not None else None)
    with kept.told(), Bar("measure", "run") as bar:
        profile = measure(request, bar, traced=kept, refusing=refusing_together)
    if profile is not None:
        print_profile(profile, form)


@contextmanager
def refusing_together(processes: Processes) -> Iterator[None]:
    """Ends all processes where one refuses its input, and prints the reason in one line.

    Only the first process prints warnings. With a single process errors pass unchanged. All
    processes must call this, and must not communicate inside.
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
