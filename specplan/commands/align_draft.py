"""Trains a draft for `specplan align` and prints the change in acceptance."""

from specplan.reports.alignment import aligned
from specplan.reports.bar import Bar
from specplan.reports.output import Printed, answer
from studies.bild.alignment import Align, align_draft


def align(request: Align, form: Printed) -> None:
    """Trains a small model, and prints what that changed."""
    with Bar("align", "text") as bar:
        found = align_draft(request, bar)
    if found is not None:
        answer(found, lambda: aligned(found), form=form)
