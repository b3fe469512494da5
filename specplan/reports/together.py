"""Several processes that run one command: they refuse their input together, in one line."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr

import click

from estimator.timing.processes import Processes
from specplan.reports.errors import describe


@contextmanager
def refusing_together(processes: Processes) -> Iterator[None]:
    """Ends all processes where one refuses its input, and prints the reason in one line.

    Only the first process prints warnings. With a single process errors pass unchanged.

    Args:
      processes: all of them must call this, and must not communicate inside.

    Raises:
      click.exceptions.Exit: in every process, if one refused its input.
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
