"""Several processes that run one command: they refuse their input together, in one line."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr

import click

from estimator.timing.processes import Processes
from specplan.reports.errors import describe


@contextmanager
def refusing_together(processes: Processes) -> Iterator[None]:
    """Ends every process alike where one refuses its input, and tells why in one line.

    What the first process warns of, the others do not repeat. Alone, errors pass as ever.

    Args:
      processes: all must come here, and use nothing that goes between them inside.

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
    # The first that ends takes the others with it: only once it is told why.
    processes.gathered(None)
    raise click.exceptions.Exit(status)
