"""Runs `specplan align` and `specplan heads`."""

from estimator.training.heads import TrainEagle3, train_eagle3
from specplan.reports.bar import Bar
from specplan.reports.output import Printed, answer
from specplan.reports.training import aligned, eagle3_trained, report, trained
from studies.bild.alignment import Align, align_draft
from studies.blockwise.analysed_heads import AnalyseHeads, analyse_heads
from studies.blockwise.trained import TrainHeads, train_heads


def align(request: Align, form: Printed) -> None:
    """Trains a small model, and prints its acceptance before and after."""
    with Bar("align", "text") as bar:
        found = align_draft(request, bar)
    if found is not None:
        answer(found, lambda: aligned(found), form=form)


def train(request: TrainHeads, form: Printed) -> None:
    """Trains blockwise heads, and prints each head's accuracy."""
    with Bar("read", "file") as bar:
        found = train_heads(request, bar)
    answer(found, lambda: trained(found), form=form)


def train_eagle3_head(request: TrainEagle3, form: Printed) -> None:
    """Trains an EAGLE-3 head, and prints the acceptance that its drafts would have."""
    with Bar("read", "file") as bar:
        found = train_eagle3(request, bar)
    answer(found, lambda: eagle3_trained(found), form=form)


def analyse(request: AnalyseHeads, form: Printed) -> None:
    """Analyses the drafts of blockwise heads, and prints the tables."""
    with Bar("analyse", "step") as bar:
        found = analyse_heads(request, bar)
    answer(found, lambda: report(found), form=form)
