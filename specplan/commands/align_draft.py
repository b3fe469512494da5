"""What `specplan align` does: it trains, and tells what that changed."""

from __future__ import annotations

import click

from specplan.options.shown import Printed
from specplan.reports.alignment import aligned
from specplan.reports.bar import Bar
from specplan.reports.output import print_json
from studies.bild.alignment import Align, align_draft


def align(request: Align, form: Printed) -> None:
    """Trains a small model, and prints what that changed."""
    with Bar("align", "text") as bar:
        found = align_draft(request, bar)
    if found is None:
        return
    if form.as_json:
        print_json(found)
    else:
        click.echo(aligned(found))
